//! The citation of a published experiment.

use serde::{Deserialize, Serialize};

/// Where an experiment was published; what is not known is left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SourceFile {
    /// The author, or the name of the author's account.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// The title.
    pub title: String,
    /// The site.
    pub site: String,
    /// The year of publication.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub year: Option<u16>,
    /// Its address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

impl SourceFile {
    /// The citation without the address: `bamch0h, "Unix domain sockets in Go", Hatena Blog, 2018`.
    pub fn citation(&self) -> String {
        let title = format!("\"{}\"", self.title);
        let year = self.year.map(|year| year.to_string());
        let parts = [self.author.clone(), Some(title), Some(self.site.clone()), year];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

impl std::fmt::Display for SourceFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.citation())?;
        self.url.iter().try_for_each(|url| write!(f, ", {url}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replicate::catalogue;

    #[test]
    fn a_citation_has_what_is_known() {
        let mut source = SourceFile {
            author: Some("bamch0h".into()),
            title: "Sockets".into(),
            site: "Hatena Blog".into(),
            year: Some(2018),
            url: Some("https://example.org".into()),
        };
        assert_eq!(source.to_string(), "bamch0h, \"Sockets\", Hatena Blog, 2018, https://example.org");
        (source.author, source.year, source.url) = (None, None, None);
        assert_eq!(source.to_string(), "\"Sockets\", Hatena Blog");
    }

    #[test]
    fn the_page_and_the_list_cite_every_experiment() {
        let page = include_str!("../../../../docs/replications.md");
        let all = catalogue::all().unwrap();
        let list = catalogue::described(&all, 1000).unwrap();
        for replication in all {
            let source = replication.source.expect("every experiment has a source");
            let row =
                format!("| `{}` | {} |", replication.id, source.author.as_deref().unwrap_or("not known"));
            let row = page.lines().find(|line| line.starts_with(&row)).unwrap_or_else(|| panic!("{row}"));
            let year = source.year.map_or("not known".to_owned(), |year| year.to_string());
            let known =
                [Some(source.title.clone()), Some(source.site.clone()), Some(year), source.url.clone()];
            for part in known.into_iter().flatten() {
                assert!(row.contains(&part), "{}: {part} is not in {row}", replication.id);
            }
            assert!(list.contains(&source.to_string()), "{source}");
        }
    }
}
