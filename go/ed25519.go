package countersign

import (
	"crypto/ed25519"
	"crypto/sha256"
	"math/big"
	"sync"
)

// Why a public key cannot be certified, in the order of the checks (vectors/README.md, key faults).
const (
	faultNonCanonical = "non-canonical"
	faultSmallOrder   = "small-order"
	faultNotOnCurve   = "not-on-curve"
	faultMixedOrder   = "mixed-order"
)

// verifySignature verifies an Ed25519 signature as strictly as libsodium: S below the order, R and the key canonical and not of small
// order, the key in the group of prime order, the equation without the cofactor.
//
// crypto/ed25519 refuses an S that is not below the order and an R in another encoding, and has the equation without the cofactor. It
// accepts keys in two encodings and of any order, and an R of small order.
func verifySignature(publicKey, message, signature []byte) bool {
	if len(publicKey) != ed25519.PublicKeySize || len(signature) != ed25519.SignatureSize {
		return false
	}
	if encodingFault(signature[:32]) != "" || !isGoodKey(publicKey) {
		return false
	}
	return ed25519.Verify(publicKey, message, signature)
}

// verifyDelegated does the same with a key of a chain, of which an agent can make any number: only its encoding is checked.
func verifyDelegated(publicKey, message, signature []byte) bool {
	if len(publicKey) != ed25519.PublicKeySize || len(signature) != ed25519.SignatureSize {
		return false
	}
	if encodingFault(signature[:32]) != "" || encodingFault(publicKey) != "" {
		return false
	}
	return ed25519.Verify(publicKey, message, signature)
}

// KeyThumbprint returns the JWK thumbprint of a public key of 32 bytes (RFC 7638 with SHA-256): 43 characters of base64url.
func KeyThumbprint(publicKey []byte) string {
	digest := sha256.Sum256([]byte(`{"crv":"Ed25519","kty":"OKP","x":"` + encodeBase64URL(publicKey) + `"}`))
	return encodeBase64URL(digest[:])
}

// Whether a key is in the group of prime order takes a millisecond to check, and a site sees the same keys again.
const maxGoodKeys = 10_000

var goodKeys = struct {
	sync.Mutex
	known map[[32]byte]struct{}
}{known: map[[32]byte]struct{}{}}

func isGoodKey(publicKey []byte) bool {
	var key [32]byte
	copy(key[:], publicKey)
	goodKeys.Lock()
	_, known := goodKeys.known[key]
	goodKeys.Unlock()
	if known {
		return true
	}
	if keyFault(publicKey) != "" {
		return false
	}
	goodKeys.Lock()
	defer goodKeys.Unlock()
	if len(goodKeys.known) >= maxGoodKeys {
		goodKeys.known = map[[32]byte]struct{}{}
	}
	goodKeys.known[key] = struct{}{}
	return true
}

// keyFault returns why a public key of 32 bytes cannot be certified; "" for a good key.
func keyFault(publicKey []byte) string {
	if fault := encodingFault(publicKey); fault != "" {
		return fault
	}
	point := decodePoint(publicKey)
	if point == nil {
		return faultNotOnCurve
	}
	if !point.multiply(groupOrder).isIdentity() {
		return faultMixedOrder
	}
	return ""
}

func bigFromHex(text string) *big.Int {
	number, ok := new(big.Int).SetString(text, 16)
	if !ok {
		panic("not a number: " + text)
	}
	return number
}

// The field, the curve and the order of the base point (RFC 8032 section 5.1).
var (
	fieldPrime = bigFromHex("7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffed")
	groupOrder = bigFromHex("1000000000000000000000000000000014def9dea2f79cd65812631a5cf5d3ed")
	curveD     = bigFromHex("52036cee2b6ffe738cc740797779e89800700a4d4141d8ab75eb4dca135978a3")
	// sqrtMinusOne is 2^((p-1)/4).
	sqrtMinusOne = bigFromHex("2b8324804fc1df0b2b4d00993dfbd7a72f431806ad2fe478c4ee1b274a0ea0b0")
	// The exponent (p-5)/8 of the square root.
	rootExponent = bigFromHex("0ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffd")
	one          = big.NewInt(1)
)

// smallOrderY has the y coordinates of the eight points of order 1, 2, 4 and 8.
var smallOrderY = []*big.Int{
	big.NewInt(0),
	big.NewInt(1),
	bigFromHex("05fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826"),
	bigFromHex("7a03ac9277fdc74ec6cc392cfa53202a0f67100d760b3cba4fd84d3d706a17c7"),
	bigFromHex("7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffec"),
}

// encodingFault returns non-canonical or small-order; "" for an encoding that a key can have.
func encodingFault(encoded []byte) string {
	y, _ := splitEncoding(encoded)
	if y.Cmp(fieldPrime) >= 0 {
		return faultNonCanonical
	}
	for _, small := range smallOrderY {
		if y.Cmp(small) == 0 {
			return faultSmallOrder
		}
	}
	return ""
}

// splitEncoding returns the y coordinate, which may be too large, and the sign of x.
func splitEncoding(encoded []byte) (y *big.Int, sign uint) {
	reversed := make([]byte, len(encoded))
	for i, each := range encoded {
		reversed[len(encoded)-1-i] = each
	}
	sign = uint(reversed[0] >> 7)
	reversed[0] &= 0x7f
	return new(big.Int).SetBytes(reversed), sign
}

// A point in extended coordinates (RFC 8032 section 5.1.4). None of this is secret, so none of it takes constant time.
type point struct{ x, y, z, t *big.Int }

// decodePoint returns the point of an encoding (RFC 8032 section 5.1.3); nil if none has it.
func decodePoint(encoded []byte) *point {
	y, sign := splitEncoding(encoded)
	yy := mul(y, y)
	u := mod(new(big.Int).Sub(yy, one))
	v := mod(new(big.Int).Add(mul(curveD, yy), one))
	v3 := mul(mul(v, v), v)
	v7 := mul(mul(v3, v3), v)
	x := mul(mul(u, v3), new(big.Int).Exp(mul(u, v7), rootExponent, fieldPrime))
	if mul(v, mul(x, x)).Cmp(u) != 0 {
		x = mul(x, sqrtMinusOne)
	}
	if mul(v, mul(x, x)).Cmp(u) != 0 || (x.Sign() == 0 && sign == 1) {
		return nil
	}
	if x.Bit(0) != sign {
		x = new(big.Int).Sub(fieldPrime, x)
	}
	return &point{x, y, big.NewInt(1), mul(x, y)}
}

func (p *point) add(q *point) *point {
	a := mul(sub(p.y, p.x), sub(q.y, q.x))
	b := mul(new(big.Int).Add(p.y, p.x), new(big.Int).Add(q.y, q.x))
	c := mul(mul(p.t, q.t), new(big.Int).Lsh(curveD, 1))
	d := mul(p.z, new(big.Int).Lsh(q.z, 1))
	e, f := sub(b, a), sub(d, c)
	g, h := new(big.Int).Add(d, c), new(big.Int).Add(b, a)
	return &point{mul(e, f), mul(g, h), mul(f, g), mul(e, h)}
}

func (p *point) multiply(scalar *big.Int) *point {
	result := &point{big.NewInt(0), big.NewInt(1), big.NewInt(1), big.NewInt(0)}
	for i := scalar.BitLen() - 1; i >= 0; i-- {
		result = result.add(result)
		if scalar.Bit(i) == 1 {
			result = result.add(p)
		}
	}
	return result
}

func (p *point) isIdentity() bool {
	return p.x.Sign() == 0 && p.y.Cmp(p.z) == 0
}

func mod(a *big.Int) *big.Int { return a.Mod(a, fieldPrime) }

func mul(a, b *big.Int) *big.Int { return mod(new(big.Int).Mul(a, b)) }

func sub(a, b *big.Int) *big.Int { return new(big.Int).Sub(a, b) }
