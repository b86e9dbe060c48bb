#!/bin/sh
# For `git bisect run`: whether the commit that is checked out keeps the claims of a file.
#
#   git bisect start BAD GOOD
#   git bisect run ./bisect.sh claims.toml
#
# `git bisect` takes status 0 as good, 125 as cannot be told, and other small numbers as bad. An open claim (3) and a build that
# fails cannot be told; a mistake in the file of claims (2) ends the bisection.
set -u

claims=${1:?usage: bisect.sh CLAIMS.toml}
if [ -n "${BISECT_BUILD:-}" ]; then
    sh -c "$BISECT_BUILD" || exit 125
fi
ipcost check "$claims" --no-save
case $? in
    0) exit 0 ;;
    1) exit 1 ;;
    3) exit 125 ;;
    130) exit 255 ;;
    *) exit 255 ;;
esac
