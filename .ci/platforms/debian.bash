# What `sid.bash` and `kernels` share: Debian's archive, lines of progress, and signals.
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

# Prints the mirror of Debian that this machine's apt uses.
mirror() {
    apt-get indextargets --format '$(ORIGIN) $(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
        awk '$1 == "Debian" && $2 !~ /security/ && !uri { uri = $2 }
            END { print uri ? uri : "http://deb.debian.org/debian" }'
}

# Ubuntu may lack the keys of Debian's archive; Debian has them. Needs root if they are missing.
keys() {
    [ -e "$keyring" ] ||
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends debian-archive-keyring >/dev/null
}

say() { printf '== %s (after %d s)\n' "$*" "$SECONDS"; }

# What takes long runs in the background, and a trap at the EXIT ends it: Bash handles a signal in `wait`, but not while
# a program in the foreground runs.
trap 'exit 130' INT
trap 'exit 143' TERM
