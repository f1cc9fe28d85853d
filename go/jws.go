package countersign

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/base64"
	"math"
	"math/big"
	"regexp"
	"strings"
	"time"
)

// Signature tokens in compact form (RFC 7515), and the keys of their issuers.

const (
	// How far the clocks of an issuer and of a verifier may differ, in seconds.
	tokenClockSkew = 60
	maxTokenLength = 100_000
	maxIssuerKeys  = 64
)

// Where a key would come from the token itself (RFC 7515 section 4.1), and extensions that must be understood.
var refusedHeaderMembers = []string{"jwk", "jku", "x5c", "x5u", "crit", "b64"}

var (
	// The bytes {" in base64url: what guards of signers look for, and what issuers write.
	tokenHeaderStart = regexp.MustCompile(`^ey[I-L]`)
	key32Pattern     = regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`)
)

// A KeySet has the keys of an issuer by their kid.
type KeySet struct{ keys map[string]issuerKey }

type issuerKey struct {
	// alg is EdDSA or ES256. It follows from the key, never from the token.
	alg  string
	x, y []byte
}

// ParseKeySet reads the JSON of /.well-known/jwks.json of an issuer. Keys of other types than Ed25519 and P-256, and for other uses
// than signatures, are left out. The error has CodeInvalidArgument.
func ParseKeySet(data []byte) (*KeySet, error) {
	refused := errorf(CodeInvalidArgument, "A key set is the JSON of /.well-known/jwks.json of an issuer.")
	object, err := parseJSONObject(data)
	if err != nil {
		return nil, refused
	}
	given, ok := object.members["keys"].([]any)
	if !ok || len(given) > maxIssuerKeys {
		return nil, refused
	}
	set := &KeySet{map[string]issuerKey{}}
	for _, each := range given {
		jwk, isObject := each.(*jsonObject)
		if !isObject {
			continue
		}
		key, isKey := issuerKeyOf(jwk)
		kid, hasKid := jwk.text("kid")
		if !isKey || !hasKid {
			continue
		}
		if _, repeated := set.keys[kid]; repeated {
			return nil, refused
		}
		set.keys[kid] = key
	}
	return set, nil
}

func issuerKeyOf(jwk *jsonObject) (issuerKey, bool) {
	if jwk.has("use") && jwk.members["use"] != "sig" {
		return issuerKey{}, false
	}
	x, isX := key32(jwk, "x")
	y, isY := key32(jwk, "y")
	switch {
	case jwk.members["kty"] == "OKP" && jwk.members["crv"] == "Ed25519":
		return issuerKey{"EdDSA", x, nil}, isX
	case jwk.members["kty"] == "EC" && jwk.members["crv"] == "P-256":
		return issuerKey{"ES256", x, y}, isX && isY
	}
	return issuerKey{}, false
}

func key32(jwk *jsonObject, name string) ([]byte, bool) {
	text, _ := jwk.text(name)
	data, err := base64.RawURLEncoding.DecodeString(text)
	return data, err == nil && key32Pattern.MatchString(text)
}

func (k issuerKey) verify(message, signature []byte) bool {
	if k.alg == "EdDSA" {
		return verifySignature(k.x, message, signature)
	}
	curve := elliptic.P256()
	key := &ecdsa.PublicKey{Curve: curve, X: new(big.Int).SetBytes(k.x), Y: new(big.Int).SetBytes(k.y)}
	if len(signature) != 64 || !curve.IsOnCurve(key.X, key.Y) {
		return false
	}
	digest := sha256.Sum256(message)
	r, s := new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:])
	return ecdsa.Verify(key, digest[:], r, s)
}

// A jws is a token, parsed and not yet verified.
type jws struct {
	alg, kid, typ string
	payload       *jsonObject
	signingInput  []byte
	signature     []byte
}

func invalidToken(what, message string) error {
	return errorf(CodeInvalidToken, "The %s %s", what, message)
}

// parseJWS parses a token in compact form (RFC 7515 section 3.1), also with a ~ at its end (SD-JWT without disclosures).
func parseJWS(token, what string) (*jws, error) {
	if len(token) > maxTokenLength {
		return nil, invalidToken(what, "is too long.")
	}
	parts := strings.Split(strings.TrimSuffix(token, "~"), ".")
	if len(parts) != 3 || parts[0] == "" || parts[1] == "" || parts[2] == "" {
		return nil, invalidToken(what, "does not have three parts that are separated by dots.")
	}
	signature, ok := decodeBase64URL(parts[2])
	if !ok || len(signature) != 64 {
		return nil, invalidToken(what, "has no signature of 64 bytes.")
	}
	header, ok := tokenObject(parts[0])
	if !ok || !tokenHeaderStart.MatchString(parts[0]) {
		return nil, invalidToken(what, "has a header that is not a JSON object.")
	}
	payload, ok := tokenObject(parts[1])
	if !ok {
		return nil, invalidToken(what, "has a payload that is not a JSON object.")
	}
	for _, name := range refusedHeaderMembers {
		if header.has(name) {
			return nil, invalidToken(what, "has the header member "+name+", which is refused.")
		}
	}
	alg, _ := header.text("alg")
	kid, hasKid := header.text("kid")
	typ, hasTyp := header.text("typ")
	if alg != "EdDSA" && alg != "ES256" {
		return nil, invalidToken(what, "is not signed with EdDSA or ES256.")
	}
	if !hasKid || !hasTyp {
		return nil, invalidToken(what, "has no kid or no typ.")
	}
	return &jws{alg, kid, typ, payload, []byte(parts[0] + "." + parts[1]), signature}, nil
}

func tokenObject(part string) (*jsonObject, bool) {
	data, ok := decodeBase64URL(part)
	if !ok {
		return nil, false
	}
	object, err := parseJSONObject(data)
	return object, err == nil
}

// assertSigned verifies type, key, times and signature of a token.
func (j *jws) assertSigned(typ, what string, keys *KeySet, at time.Time) error {
	if j.typ != typ {
		return invalidToken(what, "has the type "+j.typ+", not "+typ+".")
	}
	key, ok := keys.keys[j.kid]
	if !ok {
		return invalidToken(what, "is signed with a key that the issuer does not list.")
	}
	if j.alg != key.alg {
		return invalidToken(what, "names an algorithm that its key is not for.")
	}
	now := unixSeconds(at)
	issued, hasIssued := j.payload.members["iat"].(float64)
	expires, hasExpires := j.payload.members["exp"].(float64)
	starts, isStart := j.payload.members["nbf"].(float64)
	switch {
	// 1e400 is JSON, and infinite.
	case !hasIssued || !hasExpires || math.IsInf(issued, 0) || math.IsInf(expires, 0):
		return invalidToken(what, "has no iat or no exp.")
	case issued > now+tokenClockSkew:
		return invalidToken(what, "was issued in the future.")
	case expires <= now-tokenClockSkew:
		return invalidToken(what, "has expired.")
	case j.payload.has("nbf") && (!isStart || starts > now+tokenClockSkew):
		return invalidToken(what, "is not valid yet.")
	case !key.verify(j.signingInput, j.signature):
		return invalidToken(what, "has a signature that does not verify.")
	}
	return nil
}
