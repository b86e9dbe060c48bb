//! Bounds as people write them: a number, or a text with a unit.

use std::fmt;

use ipcost_model::units::{parse_rate, parse_throughput, parse_time_ns};
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer};

use super::ClaimMetric;
use crate::FeatureError;

/// A number, or a text with a unit.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum WrittenAmount {
    Number(f64),
    Text(String),
}

impl WrittenAmount {
    /// A ratio above 0.
    pub(super) fn ratio(&self) -> Result<f64, FeatureError> {
        let value = match self {
            Self::Number(value) => Some(*value),
            Self::Text(text) => text.trim().trim_end_matches('×').trim_end().parse().ok(),
        };
        let wrong = || FeatureError::NotRatio(self.to_string());
        value.filter(|value: &f64| value.is_finite() && *value > 0.0).ok_or_else(wrong)
    }

    /// A value in the metric's own unit.
    pub(super) fn of(&self, metric: ClaimMetric) -> Result<f64, FeatureError> {
        match (self, metric) {
            (Self::Text(text), _) => parse(metric, text),
            (Self::Number(_), ClaimMetric::OpsPerS | ClaimMetric::BytesPerS) => {
                parse(metric, &self.to_string())
            }
            (Self::Number(value), _) => Err(FeatureError::NoUnit(*value)),
        }
    }

    /// A share from 0 on; without a percent sign, below 1.
    pub(super) fn proportion(&self) -> Result<f64, FeatureError> {
        let wrong = || FeatureError::NotShare(self.to_string());
        let value = match self {
            Self::Number(value) => Some(*value).filter(|value| *value < 1.0),
            Self::Text(text) => match text.trim().strip_suffix('%') {
                Some(percent) => percent.trim_end().parse::<f64>().ok().map(|percent| percent / 100.0),
                None => text.trim().parse().ok().filter(|value| *value < 1.0),
            },
        };
        value.filter(|value| value.is_finite() && *value >= 0.0).ok_or_else(wrong)
    }
}

impl fmt::Display for WrittenAmount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(value) => write!(f, "{value}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

impl<'de> Deserialize<'de> for WrittenAmount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AmountVisitor;
        impl Visitor<'_> for AmountVisitor {
            type Value = WrittenAmount;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, or text such as \"200us\"")
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<WrittenAmount, E> {
                Ok(WrittenAmount::Number(value as f64))
            }

            fn visit_u64<E: de::Error>(self, value: u64) -> Result<WrittenAmount, E> {
                Ok(WrittenAmount::Number(value as f64))
            }

            fn visit_f64<E: de::Error>(self, value: f64) -> Result<WrittenAmount, E> {
                Ok(WrittenAmount::Number(value))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<WrittenAmount, E> {
                Ok(WrittenAmount::Text(text.to_owned()))
            }
        }
        deserializer.deserialize_any(AmountVisitor)
    }
}

fn parse(metric: ClaimMetric, text: &str) -> Result<f64, FeatureError> {
    let value = match metric {
        ClaimMetric::OpsPerS => parse_rate(text),
        ClaimMetric::BytesPerS => parse_throughput(text),
        ClaimMetric::Wall
        | ClaimMetric::Cpu
        | ClaimMetric::P50
        | ClaimMetric::P90
        | ClaimMetric::P99
        | ClaimMetric::P999 => parse_time_ns(text),
    };
    Ok(value?)
}
