//! Reading a cell's id: the inverse of [`Cell::id`](crate::Cell::id).

use crate::cell::{Pattern, Placement};
use crate::job::{Matrix, NATIVE, Size, check_peer_name};
use crate::suggest::unknown;
use crate::units::parse_size;

/// The form of an id, for errors.
const FORM: &str = "pattern/transport/size[→reply]/cN[/placement][/client→server][/options]";

/// The matrix with only the cell of this id. Does not look up transports or peers.
///
/// `->` is accepted for `→`, a size may have a unit, and `/c1` may be left out, since ids are also typed.
///
/// # Errors
/// One line that names the wrong part and the form of an id.
pub fn parse_cell_id(id: &str) -> Result<Matrix, String> {
    let wrong = |reason: String| format!("\"{id}\" is not a cell id: {reason}");
    let text = id.replace("->", "→");
    let mut parts = text.split('/').peekable();
    let mut next = |what: &str| {
        let part = parts.next().filter(|part| !part.is_empty());
        part.map(str::to_owned).ok_or_else(|| wrong(format!("it has no {what}; write {FORM}")))
    };
    let pattern: Pattern = next("pattern")?.parse().map_err(wrong)?;
    if pattern == Pattern::Floor {
        return Err(wrong(
            "a floor is a reference for other cells; name one of connect, rr or stream".to_owned(),
        ));
    }
    let transport = next("transport")?;
    let sizes = next("size")?;
    let (size, reply) = match sizes.split_once('→') {
        Some((size, reply)) => (size, Some(reply)),
        None => (sizes.as_str(), None),
    };
    let bytes = |text: &str| parse_size(text).map(Size).map_err(wrong);
    let mut matrix = Matrix {
        pattern: vec![pattern].into(),
        transport: vec![transport].into(),
        size: vec![bytes(size)?].into(),
        reply: reply.map(bytes).transpose()?.into_iter().collect::<Vec<_>>().into(),
        ..Matrix::default()
    };
    let mut seen = 0;
    for part in parts {
        // Each part at most once, in the order of ids.
        let (place, read) = read_part(part).map_err(wrong)?;
        if place <= seen {
            return Err(wrong(format!("\"{part}\" is not where it belongs; write {FORM}")));
        }
        seen = place;
        read(&mut matrix).map_err(wrong)?;
    }
    Ok(matrix)
}

/// A part after the size: its position among them, from 1, and its effect on the matrix.
type IdPart = (u8, Box<dyn FnOnce(&mut Matrix) -> Result<(), String>>);

fn read_part(part: &str) -> Result<IdPart, String> {
    if let Some(workers) = part.strip_prefix('c').and_then(|number| number.parse::<u32>().ok()) {
        return Ok((
            1,
            Box::new(move |matrix| {
                matrix.concurrency = vec![workers].into();
                Ok(())
            }),
        ));
    }
    if let Ok(placement) = part.parse::<Placement>() {
        return Ok((
            2,
            Box::new(move |matrix| {
                matrix.placement = vec![placement].into();
                Ok(())
            }),
        ));
    }
    if let Some((client, server)) = part.split_once('→') {
        for name in [client, server].into_iter().filter(|name| *name != NATIVE) {
            check_peer_name(name)?;
        }
        let (client, server) = (client.to_owned(), server.to_owned());
        return Ok((
            3,
            Box::new(move |matrix| {
                matrix.client = vec![client].into();
                matrix.server = vec![server].into();
                Ok(())
            }),
        ));
    }
    if !part.contains('=') {
        let placements = Placement::ALL.iter().map(|placement| placement.name());
        let known = unknown("part", part, placements);
        return Err(format!("{known}; write {FORM}"));
    }
    let mut settings = Vec::new();
    for setting in part.split(',') {
        let (name, value) =
            setting.split_once('=').ok_or_else(|| format!("\"{setting}\" is not of the form KEY=VALUE"))?;
        settings.push((name.to_owned(), value.to_owned()));
    }
    Ok((4, Box::new(move |matrix| settings.iter().try_for_each(|(name, value)| matrix.set(name, value)))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capabilities::{Capabilities, OptionGroup, PeerState, TransportState};
    use crate::cell::SpeaksFirst;
    use crate::expand::{Offers, PlannedCell, expand};
    use crate::job::Job;
    use crate::job::OptionLists;
    use crate::options::OptionName;
    use crate::options::{CATALOGUE, OptionKind, OptionValue};
    use proptest::prelude::*;

    const EVERYTHING: Capabilities = Capabilities {
        name: "tcp",
        summary: "",
        connects: true,
        os: &[],
        option_groups: &[
            OptionGroup::Loop,
            OptionGroup::Tcp,
            OptionGroup::Socket,
            OptionGroup::PipeBuffer,
            OptionGroup::Listener,
            OptionGroup::SourceAddresses,
        ],
        in_default_suite: true,
        ..Capabilities::PLAIN
    };

    fn cells(matrix: Matrix) -> Result<Vec<PlannedCell>, String> {
        let transports = [TransportState { capabilities: &EVERYTHING, unavailable: None }];
        let peers = [PeerState { name: "go".to_owned(), unavailable: None, wire: None }];
        let offers = Offers {
            transports: &transports,
            placements_unavailable: &[],
            peers: &peers,
            lacks: Offers::LACKS_NOTHING,
        };
        let job = Job { cells: vec![matrix], ..Job::default() };
        expand(&job, &offers).map(|expanded| expanded.cells).map_err(|error| error.to_string())
    }

    fn any_option() -> impl Strategy<Value = (OptionName, OptionValue)> {
        (0..CATALOGUE.len(), 1..5_000u64, any::<bool>()).prop_map(|(index, number, switch)| {
            let spec = &CATALOGUE[index];
            let value = match spec.kind {
                OptionKind::Bool => OptionValue::Bool(switch),
                OptionKind::Size => OptionValue::Int(number),
                OptionKind::Count(most) => OptionValue::Int(number.min(most)),
                OptionKind::Processor | OptionKind::Time(_) | OptionKind::Rate => OptionValue::Int(number),
                OptionKind::Choice(words) => OptionValue::Text(words[usize::from(switch)].to_owned()),
                OptionKind::Name(_) => OptionValue::Text(format!("name-{number}")),
                OptionKind::Offset(step) => {
                    OptionValue::Int(number % crate::layout::PAGE_BYTES / step * step)
                }
            };
            (OptionName::find(spec.name).unwrap(), value)
        })
    }

    fn any_matrix() -> impl Strategy<Value = Matrix> {
        let peer = || prop::sample::select(vec!["native", "go"]);
        let work = (
            prop::sample::select(vec![Pattern::Connect, Pattern::Rr, Pattern::Stream]),
            1..100_000u64,
            prop::option::of(1..100_000u64),
            1..200u32,
            prop::sample::select(Placement::ALL.to_vec()),
            prop::sample::select(SpeaksFirst::ALL.to_vec()),
        );
        (work, peer(), peer(), prop::collection::vec(any_option(), 0..4)).prop_map(
            |((pattern, size, reply, concurrency, placement, speaks_first), client, server, options)| {
                Matrix {
                    pattern: vec![pattern].into(),
                    transport: vec!["tcp".to_owned()].into(),
                    size: vec![Size(size)].into(),
                    reply: reply.map(Size).into_iter().collect::<Vec<_>>().into(),
                    concurrency: vec![concurrency].into(),
                    placement: vec![placement].into(),
                    speaks_first: vec![speaks_first].into(),
                    client: vec![client.to_owned()].into(),
                    server: vec![server.to_owned()].into(),
                    options: OptionLists(
                        options.into_iter().map(|(name, value)| (name, vec![value])).collect(),
                    ),
                    ..Matrix::default()
                }
            },
        )
    }

    proptest! {
        #[test]
        fn an_id_names_its_cell(matrix in any_matrix()) {
            // Impossible combinations are refused there, and have no id.
            if let Ok(cells) = cells(matrix) {
                let again = self::cells(parse_cell_id(&cells[0].id).unwrap()).unwrap();
                prop_assert_eq!(&again, &cells);
            }
        }

        #[test]
        fn any_text_is_taken_or_refused_in_one_line(text in "[a-z0-9/=,→.-]{0,40}") {
            if let Err(error) = parse_cell_id(&text) {
                prop_assert!(!error.contains('\n'));
            }
        }
    }

    #[test]
    fn what_people_type_is_understood() {
        let typed = parse_cell_id("rr/tcp/4KiB->2/c1/go->native").unwrap();
        assert_eq!(cells(typed).unwrap()[0].id, "rr/tcp/4096→2/c1/go→native");
        assert_eq!(cells(parse_cell_id("stream/tcp/64").unwrap()).unwrap()[0].id, "stream/tcp/64/c1");
    }

    #[test]
    fn mistakes_are_named() {
        for (id, part) in [
            ("rr", "no transport"),
            ("r/tcp/64", "did you mean \"rr\""),
            ("rr/tcp", "no size"),
            ("rr/tcp/x", "x"),
            ("rr/tcp/64/c1/aparts", "did you mean \"apart\""),
            ("rr/tcp/64/c1/tcp_nodely=false", "tcp_nodelay"),
            ("rr/tcp/64/apart/c1", "not where it belongs"),
            ("rr/tcp/64/c1/a b→native", "cannot name a peer"),
        ] {
            let error = parse_cell_id(id).unwrap_err();
            assert!(error.contains(part), "{id}: {error}");
        }
    }
}
