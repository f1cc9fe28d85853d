package countersign

import (
	"bytes"
	"crypto/sha256"
)

// contentDigest returns the field Content-Digest (RFC 9530) with SHA-256 of the bytes on the wire.
func contentDigest(body []byte) string {
	digest := sha256.Sum256(body)
	return "sha-256=:" + encodeBase64(digest[:]) + ":"
}

// parseContentDigest returns the SHA-256 digest in a field Content-Digest; false if it is malformed or has none.
func parseContentDigest(field string) ([]byte, bool) {
	dictionary, err := parseDictionary(field)
	if err != nil {
		return nil, false
	}
	member, _ := dictionary.get("sha-256")
	digest, ok := member.value.([]byte)
	return digest, ok && len(digest) == sha256.Size && len(member.params) == 0
}

// matchesContentDigest reports whether a body has the digest of a field Content-Digest.
func matchesContentDigest(field string, body []byte) bool {
	wanted, ok := parseContentDigest(field)
	digest := sha256.Sum256(body)
	return ok && bytes.Equal(wanted, digest[:])
}
