//! Reading a cell's id: the inverse of [`Cell::id`](crate::Cell::id).

use crate::cell::{Pattern, Placement};
use crate::error::ModelError;
use crate::job::{Matrix, NATIVE, Size, check_peer_name};
use crate::units::parse_size;

/// The form of an id, for errors.
pub(crate) const FORM: &str = "pattern/transport/size[→reply]/cN[/placement][/client→server][/options]";

/// The matrix with only the cell of this id. Does not look up transports or peers.
///
/// `->` is accepted for `→`, a size may have a unit, and `/c1` may be left out, since ids are also typed.
pub fn parse_cell_id(id: &str) -> Result<Matrix, ModelError> {
    read(id).map_err(|reason| ModelError::CellId { id: id.to_owned(), reason: Box::new(reason) })
}

fn read(id: &str) -> Result<Matrix, ModelError> {
    let text = id.replace("->", "→");
    let mut parts = text.split('/');
    let mut next = |what| parts.next().filter(|part| !part.is_empty()).ok_or(ModelError::NoIdPart(what));
    let pattern: Pattern = next("pattern")?.parse()?;
    if pattern == Pattern::Floor {
        return Err(ModelError::Invalid(
            "a floor is a reference for other cells; name one of connect, rr or stream",
        ));
    }
    let transport = next("transport")?.to_owned();
    let sizes = next("size")?;
    let (size, reply) = sizes.split_once('→').map_or((sizes, None), |(size, reply)| (size, Some(reply)));
    let bytes = |text: &str| parse_size(text).map(|bytes| vec![Size(bytes)].into());
    let mut matrix = Matrix {
        pattern: vec![pattern].into(),
        transport: vec![transport].into(),
        size: bytes(size)?,
        reply: reply.map(bytes).transpose()?.unwrap_or_default(),
        ..Matrix::default()
    };
    let mut seen = 0;
    for part in parts {
        // Each part at most once, in the order of ids.
        let place = read_part(part, &mut matrix)?;
        if place <= seen {
            return Err(ModelError::IdOrder(part.to_owned()));
        }
        seen = place;
    }
    Ok(matrix)
}

/// Reads a part after the size into the matrix; its position among them, from 1.
fn read_part(part: &str, matrix: &mut Matrix) -> Result<u8, ModelError> {
    if let Some(workers) = part.strip_prefix('c').and_then(|number| number.parse().ok()) {
        matrix.concurrency = vec![workers].into();
        return Ok(1);
    }
    if let Ok(placement) = part.parse() {
        matrix.placement = vec![placement].into();
        return Ok(2);
    }
    if let Some((client, server)) = part.split_once('→') {
        [client, server].into_iter().filter(|name| *name != NATIVE).try_for_each(check_peer_name)?;
        matrix.client = vec![client.to_owned()].into();
        matrix.server = vec![server.to_owned()].into();
        return Ok(3);
    }
    if !part.contains('=') {
        let placements = Placement::ALL.iter().map(|placement| placement.name());
        return Err(ModelError::IdPart(Box::new(ModelError::unknown("part", part, placements))));
    }
    for setting in part.split(',') {
        let (name, value) =
            setting.split_once('=').ok_or_else(|| ModelError::NotKeyValue(setting.to_owned()))?;
        matrix.set(name, value)?;
    }
    Ok(4)
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
                prop_assert!(!error.to_string().contains('\n'));
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
            let error = parse_cell_id(id).unwrap_err().to_string();
            assert!(error.contains(part), "{id}: {error}");
        }
    }
}
