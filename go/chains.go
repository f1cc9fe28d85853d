package countersign

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"time"
)

// The form of chains: draft-ietf-oauth-delegate-sd-jwt, with the differences that docs/delegation.md lists. What a later draft may change
// is here.

const (
	hopHeader = `{"alg":"EdDSA","typ":"kb+sd-jwt+kb"}`
	// RFC 9278.
	thumbprintURN = "urn:ietf:params:oauth:jwk-thumbprint:sha-256:"
	// The year 5138, in seconds.
	maxHopTime = 99_999_999_999
	// How far ahead of this clock a hop may have been issued.
	maxHopAhead     = 60 * time.Second
	maxProvenChains = 10_000
)

// isChain reports whether the certificate header of a request carries a chain: only a certificate alone has a ~ at its end.
func isChain(value string) bool {
	at := strings.IndexByte(value, '~')
	return at >= 0 && at < len(value)-1
}

// splitChain returns the tokens of a chain; false unless each is followed by one ~, and one more joins it to the next.
func splitChain(chain string) (tokens []string, ok bool) {
	parts := strings.Split(chain, "~")
	if len(chain) > maxChainLength || len(parts)%2 != 0 {
		return nil, false
	}
	for at, each := range parts {
		if (each == "") != (at%2 == 1) {
			return nil, false
		}
		if at%2 == 0 {
			tokens = append(tokens, each)
		}
	}
	return tokens, len(tokens) >= 2 && len(tokens) <= maxHops+1
}

// bindingOf is what binds a hop to the token before it: SHA-256 of its ASCII with one ~, base64url.
func bindingOf(token string) string {
	digest := sha256.Sum256([]byte(token + "~"))
	return encodeBase64URL(digest[:])
}

// A readHop is a hop that was read and not yet verified.
type readHop struct {
	DelegationHop
	publicKey []byte
	nonce     string
	// binding is bindingOf the token before it.
	binding      string
	signingInput string
	signature    []byte
}

// payload is the text that was signed. Verifiers compare it, with its members in this order.
func (h *readHop) payload() string {
	limits := `"origins":` + jsonTexts(h.Limits.Origins)
	for _, each := range []struct {
		name   string
		values []string
	}{{"methods", h.Limits.Methods}, {"paths", h.Limits.Paths}, {"mcp", h.Limits.MCP}} {
		if each.values != nil {
			limits += `,"` + each.name + `":` + jsonTexts(each.values)
		}
	}
	return fmt.Sprintf(
		`{"iat":%d,"aud":"%s","nonce":"%s","sd_hash":"%s","delegate_payload":[{"exp":%d,"max_depth":%d,`+
			`"cnf":{"jwk":{"kty":"OKP","crv":"Ed25519","x":"%s"}},"limits":{%s}}]}`,
		h.IssuedAt.Unix(), thumbprintURN+h.KeyID, h.nonce, h.binding, h.ExpiresAt.Unix(), h.MaxDepth, encodeBase64URL(h.publicKey), limits)
}

// jsonTexts writes texts of limits, which have no character that JSON escapes. encoding/json would escape & < >.
func jsonTexts(values []string) string { return `["` + strings.Join(values, `","`) + `"]` }

// parseHop reads a hop. Its payload is written again and compared: that refuses white space, escapes, unknown, missing and repeated members,
// and any other spelling of a value.
func parseHop(token string) (*readHop, bool) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 || parts[0] != encodeBase64URL([]byte(hopHeader)) {
		return nil, false
	}
	payload, isPayload := decodeBase64URL(parts[1])
	signature, isSignature := decodeBase64URL(parts[2])
	if !isPayload || !isSignature || len(signature) != 64 {
		return nil, false
	}
	hop, ok := readPayload(payload)
	if !ok || hop.payload() != string(payload) {
		return nil, false
	}
	hop.signingInput, hop.signature = parts[0]+"."+parts[1], signature
	return hop, true
}

// readPayload reads the values of a payload. What they do not say of its text, parseHop compares.
func readPayload(data []byte) (*readHop, bool) {
	outer, err := parseJSONObject(data)
	if err != nil {
		return nil, false
	}
	payloads, _ := outer.members["delegate_payload"].([]any)
	if len(payloads) == 0 {
		return nil, false
	}
	inner, isObject := payloads[0].(*jsonObject)
	if !isObject {
		return nil, false
	}
	x, _ := inner.object("cnf").object("jwk").text("x")
	publicKey, isKey := decodeBase64URL(x)
	nonce, _ := outer.text("nonce")
	binding, _ := outer.text("sd_hash")
	digest, isDigest := decodeBase64URL(binding)
	issued, isIssued := outer.integer("iat", 0, maxHopTime)
	expires, isExpires := inner.integer("exp", 0, maxHopTime)
	depth, isDepth := inner.integer("max_depth", 0, maxHops)
	limits, isLimits := readLimits(inner.object("limits"))
	if !isKey || len(publicKey) != 32 || !noncePattern.MatchString(nonce) || !isDigest || len(digest) != 32 ||
		!isIssued || !isExpires || !isDepth || !isLimits {
		return nil, false
	}
	return &readHop{
		DelegationHop: DelegationHop{KeyThumbprint(publicKey), time.Unix(issued, 0), time.Unix(expires, 0), int(depth), limits},
		publicKey:     publicKey,
		nonce:         nonce,
		binding:       binding,
	}, true
}

// A chainRoot is the certificate at the root of a chain, as it says.
type chainRoot struct {
	certificate, did, keyid string
	publicKey               []byte
	expiresAt               time.Time
	// maxDepth is how many hops the owner allows: 0 to 3.
	maxDepth int
}

// A chain is what a chain says.
type chain struct {
	root chainRoot
	hops []DelegationHop
	// keys of the hops.
	keys [][]byte
	// unproven is what its hops signed; nil: their signatures are known to be valid.
	unproven []*readHop
}

// readChain is step b: nothing is verified. If it is no chain, it has those hops that could be read.
func readChain(text string) (found *chain, ok bool) {
	found = &chain{}
	tokens, ok := splitChain(text)
	if !ok {
		return found, false
	}
	root, ok := readRoot(tokens[0])
	found.root = root
	for _, token := range tokens[1:] {
		hop, isHop := parseHop(token)
		if !isHop {
			return found, false
		}
		found.unproven = append(found.unproven, hop)
		found.hops = append(found.hops, hop.DelegationHop)
		found.keys = append(found.keys, hop.publicKey)
	}
	return found, ok
}

// readRoot reads the claims of a certificate that chains depend on. Whether it is one, nobody knows yet.
func readRoot(certificate string) (chainRoot, bool) {
	token, err := parseJWS(certificate, whatCertificate)
	if err != nil || token.typ != typCertificate {
		return chainRoot{}, false
	}
	did, isDID := token.payload.text("sub")
	expires, isExpires := token.payload.integer("exp", -maxSafeInteger, maxSafeInteger)
	jwk := token.payload.object("cnf").object("jwk")
	x, _ := jwk.text("x")
	publicKey, isKey := decodeBase64URL(x)
	isKey = isKey && len(publicKey) == 32 && jwk.members["kty"] == "OKP" && jwk.members["crv"] == "Ed25519"
	depth, isDepth := token.payload.integer("maxDelegationDepth", 0, maxHops)
	if !isDID || !isExpires || !isKey || (token.payload.has("maxDelegationDepth") && !isDepth) {
		return chainRoot{}, false
	}
	return chainRoot{certificate, did, KeyThumbprint(publicKey), publicKey, time.Unix(expires, 0), int(depth)}, true
}

// fault is that of the steps c to f; "" if there is none. keyid is the key that signed the request.
func (c *chain) fault(keyid string, now time.Time) string {
	switch {
	case !c.hasGoodKeys(keyid):
		return "key"
	case !c.isInDepth():
		return "depth"
	case !c.isInTime(now):
		return "times"
	case !c.isNarrowing():
		return "widened"
	case !c.isBound():
		return "binding"
	}
	return ""
}

func (c *chain) hasGoodKeys(keyid string) bool {
	seen := map[string]bool{c.root.keyid: true}
	isGood := encodingFault(c.root.publicKey) == ""
	for at, each := range c.hops {
		isGood = isGood && !seen[each.KeyID] && encodingFault(c.keys[at]) == ""
		seen[each.KeyID] = true
	}
	return isGood && c.hops[len(c.hops)-1].KeyID == keyid
}

func (c *chain) isInDepth() bool {
	before := c.root.maxDepth
	for _, each := range c.hops {
		if each.MaxDepth >= before {
			return false
		}
		before = each.MaxDepth
	}
	return true
}

func (c *chain) isInTime(now time.Time) bool {
	latest := c.root.expiresAt
	for _, each := range c.hops {
		seconds := each.seconds()
		if seconds <= 0 || seconds > maxDelegationSeconds || each.IssuedAt.After(now.Add(maxHopAhead)) || each.ExpiresAt.After(latest) {
			return false
		}
		latest = each.ExpiresAt
	}
	return true
}

func (c *chain) isNarrowing() bool {
	for at := 1; at < len(c.hops); at++ {
		if !c.hops[at-1].Limits.covers(c.hops[at].Limits) {
			return false
		}
	}
	return true
}

// isBound reports whether each hop is bound to the token before it, so that none fits another chain.
func (c *chain) isBound() bool {
	before := c.root.certificate
	for _, each := range c.unproven {
		if each.binding != bindingOf(before) {
			return false
		}
		before = each.signingInput + "." + encodeBase64URL(each.signature)
	}
	return true
}

// refusal is that of the steps g and h; "" if the chain is current, and the policy accepts it.
func (c *chain) refusal(policy DelegationPolicy, now time.Time) string {
	if !c.hops[len(c.hops)-1].ExpiresAt.After(now) {
		return "delegation-expired"
	}
	if !policy.accepts(c.hops) {
		return "delegation-refused"
	}
	return ""
}

// isSigned is step j: each hop is signed by the key before it.
func (c *chain) isSigned() bool {
	key := c.root.publicKey
	for _, each := range c.unproven {
		if !verifyDelegated(key, []byte(each.signingInput), each.signature) {
			return false
		}
		key = each.publicKey
	}
	return true
}

// provenChains are chains whose hops were verified, so that a delegate's second request costs no more than an agent's. Nothing else of a
// chain is remembered: its times, the certificate and its status count anew with each request.
type provenChains struct {
	chains *boundedMap[[sha256.Size]byte, *chain]
}

func newProvenChains() *provenChains {
	return &provenChains{newBoundedMap[[sha256.Size]byte, *chain](maxProvenChains)}
}

func (p *provenChains) get(text string) (*chain, bool) {
	return p.chains.get(sha256.Sum256([]byte(text)))
}

// add remembers a chain that is bound and has valid signatures.
func (p *provenChains) add(text string, found *chain) {
	p.chains.set(sha256.Sum256([]byte(text)), &chain{root: found.root, hops: found.hops, keys: found.keys})
}
