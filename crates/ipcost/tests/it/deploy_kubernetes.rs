//! The manifests for Kubernetes, against the published schemas.

use std::fs;
use std::process::{Command, Output};

use crate::common::{Place, text};
use crate::deploy::{engines, python_programs};

/// It carries the schemas of these versions: the oldest in which the manifests mean what they say, and its newest.
const PACKAGE: &str = "kubernetes-validate==1.37.0";
const VERSIONS: [&str; 2] = ["1.33", "1.37"];

#[test]
fn manifests_are_valid_and_a_mistake_is_seen() {
    let Some(programs) = python_programs(PACKAGE) else { return };
    let validate = |version: &str, file: &str| -> Output {
        let mut command = Command::new(programs.join("kubernetes-validate"));
        command.args(["--strict", "--kubernetes-version", version, file]);
        command.output().unwrap()
    };
    let place = Place::new();
    for name in ["daemonset.yaml", "job.yaml"] {
        let file = engines().join("kubernetes").join(name);
        for version in VERSIONS {
            let output = validate(version, file.to_str().unwrap());
            assert!(output.status.success(), "{name}: {}{}", text(&output.stdout), text(&output.stderr));
        }
        let wrong = fs::read_to_string(&file).unwrap().replace("readOnlyRootFilesystem", "readOnlyRoot");
        let wrong = place.write(name, &wrong);
        let output = validate(VERSIONS[0], wrong.to_str().unwrap());
        let told = text(&output.stdout) + &text(&output.stderr);
        assert!(!output.status.success() && told.contains("readOnlyRoot"), "{told}");
    }
}
