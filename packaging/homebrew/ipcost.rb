# Untested: no release has been published, and Homebrew was not at hand.
class Ipcost < Formula
  desc "Measures what local inter-process communication costs, how sure that is, and why"
  homepage "@REPOSITORY@"
  version "@VERSION@"
  license any_of: ["MIT", "Apache-2.0"]

  depends_on :linux

  on_intel do
    url "@REPOSITORY@/releases/download/v@VERSION@/ipcost-@VERSION@-x86_64-unknown-linux-musl.tar.gz"
    sha256 "@SUM_X86_64@"
  end
  on_arm do
    url "@REPOSITORY@/releases/download/v@VERSION@/ipcost-@VERSION@-aarch64-unknown-linux-musl.tar.gz"
    sha256 "@SUM_AARCH64@"
  end

  def install
    bin.install "ipcost"
    man1.install "man/ipcost.1"
    bash_completion.install "completions/ipcost.bash" => "ipcost"
    zsh_completion.install "completions/_ipcost"
    fish_completion.install "completions/ipcost.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/ipcost --version")
    system bin/"ipcost", "--transports", "pipe", "--patterns", "rr", "--epochs", "1"
  end
end
