# What the scripts need to know of Debian's archive; `sid.bash` and `kernels` read this file.
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
