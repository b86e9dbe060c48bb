//! One colour a transport, the same in every picture, told apart by colour-blind people too.

use ipcost_model::Document;

/// Colours by Okabe and Ito ("Color Universal Design", 2008), for names that are common; a name that is not here gets
/// one of [`OTHERS`], so that nothing breaks when there are new ones.
const USUAL: [(&str, &str); 8] = [
    ("pipe", "#0072b2"),
    ("fifo", "#56b4e9"),
    ("unix", "#d55e00"),
    ("unix-abstract", "#e69f00"),
    ("socketpair", "#cc79a7"),
    ("tcp", "#4d4d4d"),
    ("tcp6", "#009e73"),
    ("npipe", "#b3a100"),
];
/// In the order in which a document names further transports.
const OTHERS: [&str; 5] = ["#332288", "#882255", "#44aa99", "#aa4499", "#117733"];

/// The colour of a transport.
pub fn of(document: &Document, transport: &str) -> &'static str {
    let usual = |name: &str| USUAL.iter().find(|(known, _)| *known == name).map(|(_, colour)| *colour);
    usual(transport).unwrap_or_else(|| {
        let mut others: Vec<&str> = Vec::new();
        for cell in &document.cells {
            if usual(&cell.transport).is_none() && !others.contains(&cell.transport.as_str()) {
                others.push(&cell.transport);
            }
        }
        let index = others.iter().position(|name| *name == transport).unwrap_or(0);
        OTHERS[index % OTHERS.len()]
    })
}
