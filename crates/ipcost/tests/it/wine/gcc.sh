# The file for what the compiler says; then what it is told.
said=$1
shift
x86_64-w64-mingw32-gcc "$@" >"$said" 2>&1
echo $? >"$said-ended"
