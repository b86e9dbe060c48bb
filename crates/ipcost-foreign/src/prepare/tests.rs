//! Peers are built once, used as built, and rebuilt when anything about them differs.

use std::os::unix::fs::PermissionsExt;
use std::sync::Barrier;

use super::*;
use crate::sources::File;

/// A peer whose only source is a script, "compiled" by copying it.
fn recipe(build: &str) -> Recipe {
    static SCRIPT: Directory =
        Directory { name: "src", files: &[File { path: "toy.sh", bytes: b"#!/bin/sh\nexit 0\n" }] };
    Recipe {
        directories: vec![&SCRIPT],
        version: "1".to_owned(),
        build: Some(["sh", "-c", build].map(str::to_owned).to_vec()),
        environment: Vec::new(),
        interpreter: Vec::new(),
        program: "toy".to_owned(),
    }
}

const COPY: &str = "cp toy.sh ../toy && chmod +x ../toy";

fn made(recipe: &Recipe, cache: &Cache) -> Result<std::path::PathBuf, Unavailable> {
    let place = cache.place(&format!("toy-{}", recipe.fingerprint()));
    if !recipe.is_intact(&place) {
        let workshop = cache.workshop().unwrap();
        recipe.carry_out("src", workshop.path())?;
        put(workshop, &place, cache, || recipe.is_intact(&place)).map_err(|error| error.to_string())?;
    }
    Ok(place)
}

fn leavings(cache: &Cache) -> Vec<String> {
    let entries = fs::read_dir(cache.place("")).unwrap().flatten();
    entries
        .map(|entry| entry.file_name().into_string().unwrap())
        .filter(|name| name.starts_with('.'))
        .collect()
}

#[test]
fn what_was_tampered_with_is_built_anew() {
    let base = tempfile::tempdir().unwrap();
    let cache = Cache::at(base.path()).unwrap();
    let recipe = recipe(COPY);
    let place = made(&recipe, &cache).unwrap();
    assert_eq!(fs::metadata(&place).unwrap().permissions().mode() & 0o777, 0o700);
    let tamper: [&dyn Fn(); 5] = [
        &|| fs::write(place.join("toy"), "#!/bin/sh\nrm -rf /\n").unwrap(),
        &|| fs::write(place.join("more"), "").unwrap(),
        &|| fs::remove_file(place.join("toy")).unwrap(),
        &|| fs::remove_dir_all(&place).and_then(|()| fs::write(&place, "")).unwrap(),
        &|| {
            // Even if the manifest itself matches.
            fs::write(place.join("src/toy.sh"), "other").unwrap();
            fs::remove_file(place.join(crate::manifest::NAME)).unwrap();
            Manifest::of(&place).unwrap().write(&place).unwrap();
        },
    ];
    for tamper in tamper {
        assert!(recipe.is_intact(&place));
        tamper();
        assert!(!recipe.is_intact(&place));
        assert_eq!(made(&recipe, &cache).unwrap(), place);
    }
    assert!(recipe.is_intact(&place));
    assert_eq!(leavings(&cache), [""; 0], "what was broken is gone");
}

#[test]
fn other_sources_commands_and_compilers_are_other_peers() {
    let plain = recipe(COPY).fingerprint();
    assert_eq!(plain, recipe(COPY).fingerprint());
    assert_ne!(plain, recipe("cp toy.sh ../toy").fingerprint());
    assert_ne!(plain, Recipe { version: "2".into(), ..recipe(COPY) }.fingerprint());
    assert_ne!(plain, Recipe { environment: GO_ENVIRONMENT.to_vec(), ..recipe(COPY) }.fingerprint());
}

#[test]
fn programs_that_build_at_once_end_up_with_one_result() {
    const BUILDERS: usize = 4;
    let base = tempfile::tempdir().unwrap();
    let cache = Cache::at(base.path()).unwrap();
    let (recipe, together) = (recipe(COPY), Barrier::new(BUILDERS));
    let place = cache.place("toy");
    std::thread::scope(|scope| {
        for _ in 0..BUILDERS {
            scope.spawn(|| {
                let workshop = cache.workshop().unwrap();
                recipe.carry_out("src", workshop.path()).unwrap();
                together.wait();
                put(workshop, &place, &cache, || recipe.is_intact(&place)).unwrap();
                assert!(recipe.is_intact(&place));
            });
        }
    });
    assert_eq!(leavings(&cache), [""; 0]);
}

#[test]
fn a_build_that_fails_says_why_and_leaves_nothing() {
    let base = tempfile::tempdir().unwrap();
    let cache = Cache::at(base.path()).unwrap();
    let reason = |build: &str| made(&recipe(build), &cache).unwrap_err().reason;
    let failed = reason("echo main.c:3: error: no such thing >&2; exit 4");
    assert_eq!(failed, "it cannot be built: sh (exit status: 4): main.c:3: error: no such thing");
    let broken = reason("printf '#!/bin/sh\\necho no libc >&2; exit 9\\n' > ../toy; chmod +x ../toy");
    assert_eq!(broken, "what was built does not run (exit status: 9): no libc");
    assert!(reason("cp toy.sh ../toy; chmod -x ../toy").contains("noexec"));
    assert_eq!(fs::read_dir(cache.place("")).unwrap().count(), 0);
}
