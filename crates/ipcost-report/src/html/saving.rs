//! What a Unix socket saves a server: what was compared, what each load costs over either socket, from how much work on the
//! saving stops mattering, and what becomes of clients that come at once.

use super::{Fragment, text};
use crate::figures::saving::{
    Burst, BurstSide, Checked, Curves, Load, MET, Panel, Saves, Savings, per_cent, work,
};
use crate::picture::saving;

/// The sections of a page: the answer, then the curves and the burst where there are any.
pub fn section(savings: &Savings) -> Fragment {
    let mut out = format!(
        "<section id=\"saving\" aria-labelledby=\"saving-title\">\n<h2 id=\"saving-title\">{}</h2>\n",
        text(&savings.heading)
    );
    if !savings.checked.is_empty() {
        out.push_str("<h3>The same work on both sides?</h3>\n");
        let head = ["what", "Unix socket", "TCP", "verdict"].map(|name| (name, ""));
        out.push_str(&table("named", &head, savings.checked.iter().map(checked).collect()));
    }
    if !savings.loads.is_empty() {
        out.push_str("<h3>What a request costs, and what the Unix socket saves</h3>\n");
        out.push_str(&table("named beside", &LOADS, savings.loads.iter().map(load).collect()));
    }
    if !savings.sentences.is_empty() {
        out.push_str(&format!("<h3>In words</h3>\n{}", paragraphs(&savings.sentences, "")));
    }
    out.push_str(&paragraphs(&savings.limits, " class=\"note\""));
    out.push_str("</section>\n");
    out.extend(savings.curves.iter().map(curves));
    out.extend(savings.burst.iter().map(burst));
    Fragment(out)
}

/// The columns of loads, each with its class.
const LOADS: [(&str, &str); 11] = [
    ("request", ""),
    ("cores", ""),
    ("Unix socket", "number"),
    ("TCP", "number"),
    ("Unix / TCP", "number"),
    ("interval", ""),
    ("verdict", ""),
    ("saves", "number"),
    ("interval", ""),
    ("processor time", "number"),
    ("interval", ""),
];

fn checked(checked: &Checked) -> String {
    let class = if checked.differs { " dearer" } else { "" };
    format!(
        "<th scope=\"row\">{}</th><td class=\"reason\">{}</td><td class=\"reason\">{}</td><td class=\"reason{class}\">{}</td>",
        text(&checked.what),
        text(&checked.unix),
        text(&checked.tcp),
        text(&checked.said)
    )
}

fn load(load: &Load) -> String {
    let class = match load.saves {
        Saves::Less => "cheaper",
        Saves::More => "dearer",
        Saves::Open => "open",
        Saves::Same => "",
    };
    let number = |shown: &str| format!("<td class=\"number\">{}</td>", text(shown));
    let held = |shown: &str| format!("<td class=\"interval\">{}</td>", text(shown));
    [
        format!("<th scope=\"row\">{}</th><td>{}</td>", text(&load.load), text(&load.cores)),
        number(&load.unix),
        number(&load.tcp),
        number(&load.ratio),
        held(&load.ratio_held),
        format!("<td class=\"{class}\">{}</td>", text(&load.said)),
        number(&load.saved),
        held(&load.saved_held),
        number(&load.cpu),
        held(&load.cpu_held),
    ]
    .concat()
}

fn curves(curves: &Curves) -> String {
    let legend = saving::legend(curves).into_iter();
    let legend =
        legend.map(|(sign, words)| format!("<span>{}{}</span>", saving::sign(sign).inline(), text(&words)));
    let panels = saving::panels(curves).into_iter().map(|panel| format!("<div>\n{}</div>\n", panel.inline()));
    format!(
        "<section id=\"saving-by-work\" aria-labelledby=\"saving-by-work-title\">\n\
         <h2 id=\"saving-by-work-title\">From how much work on does it stop mattering?</h2>\n\
         <p class=\"note legend signs\">{}</p>\n<p class=\"note\">{}</p>\n<div class=\"multiples wide\">\n{}</div>\n{}\
         <details><summary>The numbers</summary>\n{}{}</details>\n</section>\n",
        legend.collect::<String>(),
        text(&curves.reading()),
        panels.collect::<String>(),
        paragraphs(&curves.notes, " class=\"note\""),
        bounds(curves),
        measured(curves)
    )
}

/// The share that is saved at most for round numbers of work, a column a placement.
fn bounds(curves: &Curves) -> String {
    let names = curves.panels.iter().map(|panel| (panel.name.as_str(), "number"));
    let head: Vec<(&str, &str)> = std::iter::once(("work, saved at most", "")).chain(names).collect();
    let numbers = curves.panels.first().map_or(&[][..], |panel| &panel.numbers);
    let share = |panel: &Panel, index: usize| {
        let shown = panel.numbers.get(index).map_or_else(String::new, |(_, share)| per_cent(*share));
        format!("<td class=\"number\">{shown}</td>")
    };
    let row = |(index, (work_ns, _)): (usize, &(f64, f64))| {
        let shares: String = curves.panels.iter().map(|panel| share(panel, index)).collect();
        format!("<th scope=\"row\">{}</th>{shares}", text(&work(*work_ns)))
    };
    table("named", &head, numbers.iter().enumerate().map(row).collect())
}

/// Requests as measured; nothing if there are none.
fn measured(curves: &Curves) -> String {
    let head = [
        ("request, as measured", ""),
        ("cores", ""),
        ("work", "number"),
        ("saves", "number"),
        ("interval", ""),
    ];
    let of = |panel: &Panel| {
        let row = |request: &crate::saving::Measured| {
            format!(
                "<th scope=\"row\">{}</th><td>{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"interval\">{}</td>",
                text(&request.request),
                text(&panel.name),
                request.work(),
                per_cent(request.share.median),
                request.interval()
            )
        };
        panel.requests.iter().map(row).collect::<Vec<_>>()
    };
    let rows: Vec<String> = curves.panels.iter().flat_map(of).collect();
    if rows.is_empty() { String::new() } else { table("named", &head, rows) }
}

fn burst(burst: &Burst) -> String {
    let shares = MET.map(|name| (name, "number"));
    let head: Vec<(&str, &str)> =
        [("clients of all rounds", ""), ("queue", "number")].into_iter().chain(shares).collect();
    let side = |side: &BurstSide| {
        let queue = side.queue.map_or("not known".to_owned(), |queue| queue.to_string());
        let met = side.met.iter().map(|met| format!("<td class=\"number\">{}</td>", text(met)));
        let met: String = met.collect();
        format!("<th scope=\"row\">{}</th><td class=\"number\">{queue}</td>{met}", text(&side.socket))
    };
    format!(
        "<section id=\"burst\" aria-labelledby=\"burst-title\">\n\
         <h2 id=\"burst-title\">{} clients at the same moment</h2>\n{}<p>{}</p>\n</section>\n",
        burst.clients,
        table("named", &head, burst.sides.iter().map(side).collect()),
        text(&burst.said)
    )
}

/// A table: its class, its columns, each with a class, and the fields of its rows.
fn table(class: &str, head: &[(&str, &str)], rows: Vec<String>) -> String {
    let head = head.iter().map(|(name, class)| {
        let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
        format!("<th scope=\"col\"{class}>{}</th>", text(name))
    });
    let rows: String = rows.into_iter().map(|fields| format!("<tr>{fields}</tr>\n")).collect();
    format!(
        "<div class=\"scroll\"><table class=\"{class}\"><thead><tr>{}</tr></thead>\n<tbody>\n{rows}</tbody></table></div>\n",
        head.collect::<String>()
    )
}

fn paragraphs(lines: &[String], class: &str) -> String {
    lines.iter().map(|line| format!("<p{class}>{}</p>\n", text(line))).collect()
}

#[cfg(test)]
mod tests;
