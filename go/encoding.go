package countersign

import (
	"encoding/base64"
)

var (
	strictBase64    = base64.StdEncoding.Strict()
	strictBase64URL = base64.RawURLEncoding.Strict()
)

// decodeBase64 decodes canonical base64 (RFC 4648 section 4): padded, unused bits zero. Go's decoder skips line ends, so what it
// returns is encoded again and compared.
func decodeBase64(text string) ([]byte, bool) {
	return canonically(strictBase64, text)
}

// decodeBase64URL decodes canonical base64url without padding (RFC 4648 section 5).
func decodeBase64URL(text string) ([]byte, bool) {
	return canonically(strictBase64URL, text)
}

func canonically(encoding *base64.Encoding, text string) ([]byte, bool) {
	data, err := encoding.DecodeString(text)
	if err != nil || encoding.EncodeToString(data) != text {
		return nil, false
	}
	return data, true
}

// decodeKey decodes the 32 bytes of a public key in canonical base64.
func decodeKey(text string) ([]byte, bool) {
	data, ok := decodeBase64(text)
	return data, ok && len(data) == 32
}

// decodeSignature decodes the 64 bytes of a signature in canonical base64.
func decodeSignature(text string) ([]byte, bool) {
	data, ok := decodeBase64(text)
	return data, ok && len(data) == 64
}

func encodeBase64(data []byte) string { return strictBase64.EncodeToString(data) }

func encodeBase64URL(data []byte) string { return strictBase64URL.EncodeToString(data) }
