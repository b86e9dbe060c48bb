//! Claims with the tests that decide them, by condition, and the small multiples that they make: a panel a condition, a row
//! a test, all panels of a claim with one axis.

use ipcost_model::ClaimVerdict;

/// The claims of an article.
#[derive(Debug, Clone, PartialEq)]
pub struct FigureClaims {
    /// What the article asked.
    pub question: String,
    /// Where it was published, what was not measured, and the like: a line each.
    pub notes: Vec<String>,
    /// In the article's order.
    pub claims: Vec<FigureClaim>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct FigureClaim {
    /// Its place among the others, from 1.
    pub number: usize,
    /// As it was published.
    pub text: String,
    pub known: ClaimVerdict,
    /// The same in words, with what that is limited to.
    pub said: String,
    /// As published, then under each condition.
    pub conditions: Vec<FigureCondition>,
}

/// A claim under a condition.
#[derive(Debug, Clone, PartialEq)]
pub struct FigureCondition {
    /// The condition in words.
    pub name: String,
    /// What is known; `None` if it decides nothing.
    pub known: Option<ClaimVerdict>,
    /// The same in words.
    pub said: String,
    pub tests: Vec<FigureTest>,
}

/// A comparison and its figures.
#[derive(Debug, Clone, PartialEq)]
pub struct FigureTest {
    pub about: String,
    /// Whether it is a ratio, and not the figure of a single cell.
    pub is_ratio: bool,
    pub value: Option<f64>,
    /// The lower end of its interval.
    pub lo: Option<f64>,
    /// The upper end of its interval.
    pub hi: Option<f64>,
    /// The value that the article has.
    pub published: Option<f64>,
    /// The value is claimed to be above this.
    pub above: Option<f64>,
    /// The value is claimed to be below this.
    pub below: Option<f64>,
    pub decides: bool,
    pub known: ClaimVerdict,
    /// The value as text; empty if there is none.
    pub here: String,
    /// Its interval as text.
    pub held: String,
    /// What is claimed of it, as text.
    pub claimed: String,
    /// What is known, in words.
    pub said: String,
}

/// The panels of a claim.
#[derive(Debug)]
pub struct Multiples<'a> {
    /// What all rows have in common, and the axis.
    pub caption: String,
    /// Whether the axis is one of ratios, on which 1 is no difference.
    pub is_ratio: bool,
    pub panels: Vec<ConditionPanel<'a>>,
}

#[derive(Debug)]
pub struct ConditionPanel<'a> {
    pub condition: &'a FigureCondition,
    /// From top to bottom.
    pub rows: Vec<TestRow<'a>>,
}

#[derive(Debug)]
pub struct TestRow<'a> {
    /// What distinguishes it from other rows.
    pub label: String,
    /// The value and what is known.
    pub figures: String,
    /// All of it, in a sentence.
    pub sentence: String,
    /// Whether its value can be drawn on the axis.
    pub is_drawn: bool,
    pub test: &'a FigureTest,
}

/// A value that a logarithmic axis can show.
pub fn drawable(value: f64) -> Option<f64> {
    Some(value).filter(|value| value.is_finite() && *value > 0.0)
}

impl FigureClaim {
    /// Its panels; `None` if no value can be drawn.
    pub fn multiples(&self) -> Option<Multiples<'_>> {
        // Figures that decide nothing are shown only where there are no others.
        let decided = self.conditions.iter().any(|condition| condition.known.is_some());
        let is_shown = |test: &&FigureTest| test.decides || !decided;
        let conditions: Vec<(&FigureCondition, Vec<&FigureTest>)> = self
            .conditions
            .iter()
            .filter(|condition| condition.known.is_some() || !decided)
            .map(|condition| (condition, condition.tests.iter().filter(is_shown).collect::<Vec<_>>()))
            .filter(|(_, tests)| !tests.is_empty())
            .collect();
        let all: Vec<&FigureTest> = conditions.iter().flat_map(|(_, tests)| tests.iter().copied()).collect();
        let has_value = |test: &FigureTest| test.value.and_then(drawable).is_some();
        let is_ratio = all.iter().any(|test| has_value(test) && test.is_ratio);
        let is_drawn = |test: &FigureTest| has_value(test) && test.is_ratio == is_ratio;
        if !all.iter().any(|test| is_drawn(test)) {
            return None;
        }
        let names = SharedNames::of(&all);
        let panels = conditions.into_iter().map(|(condition, tests)| ConditionPanel {
            condition,
            rows: tests
                .into_iter()
                .map(|test| TestRow {
                    label: names.label(&test.about),
                    // A figure that decides nothing has no verdict.
                    figures: joined([test.here.as_str(), if test.decides { &test.said } else { "" }], " "),
                    sentence: sentence(test),
                    is_drawn: is_drawn(test),
                    test,
                })
                .collect(),
        });
        let panels = panels.collect();
        Some(Multiples { caption: names.caption(is_ratio), is_ratio, panels })
    }
}

/// `unix over tcp, 1 B: 0.81 (0.76–0.90), claimed < 1: holds`.
fn sentence(test: &FigureTest) -> String {
    let figures = joined([test.here.as_str(), test.held.as_str()], " ");
    let claimed = if test.claimed.is_empty() { String::new() } else { format!("claimed {}", test.claimed) };
    let figures = joined([figures.as_str(), claimed.as_str()], ", ");
    joined([test.about.as_str(), figures.as_str(), test.said.as_str()], ": ")
}

fn joined<'a>(parts: impl IntoIterator<Item = &'a str>, between: &str) -> String {
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(between)
}

/// What tests compare, in parts between commas, of which some are the same in all.
struct SharedNames<'a> {
    /// The parts that all share, by place; `None` where they differ, empty if tests have unlike numbers of parts.
    shared: Vec<Option<&'a str>>,
}

const COMMA: &str = ", ";

impl<'a> SharedNames<'a> {
    fn of(tests: &[&'a FigureTest]) -> Self {
        let mut split = tests.iter().map(|test| test.about.split(COMMA).collect::<Vec<_>>());
        let Some(first) = split.next() else { return Self { shared: Vec::new() } };
        let mut shared: Vec<Option<&str>> = first.into_iter().map(Some).collect();
        for parts in split {
            if parts.len() != shared.len() {
                return Self { shared: Vec::new() };
            }
            for (place, part) in shared.iter_mut().zip(parts) {
                *place = place.filter(|shared| *shared == part);
            }
        }
        Self { shared }
    }

    /// What only this test has; empty if all are the same.
    fn label(&self, about: &str) -> String {
        if self.shared.is_empty() {
            return about.to_owned();
        }
        let own = about.split(COMMA).zip(&self.shared).filter(|(_, shared)| shared.is_none());
        own.map(|(part, _)| part).collect::<Vec<_>>().join(COMMA)
    }

    fn caption(&self, is_ratio: bool) -> String {
        let shared = self.shared.iter().copied().flatten().collect::<Vec<_>>().join(COMMA);
        let axis = if is_ratio { "ratio, logarithmic" } else { "logarithmic" };
        if shared.is_empty() { format!("Axis: {axis}") } else { format!("{shared} ({axis})") }
    }
}

#[cfg(test)]
pub(crate) mod tests;
