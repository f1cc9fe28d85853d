package countersign

import (
	"crypto/sha256"
	"fmt"
	"regexp"
	"strings"
	"time"
)

const (
	// How far ahead of this clock a signature may have been made.
	maxClockSkewSeconds = 30
	// How long a signature by an agent may be valid. No nonce is remembered for longer after it was created.
	maxLifetimeSeconds = 300

	maxFieldLength = 8192
	maxSignatures  = 4
	maxComponents  = 32
)

var (
	keyidPattern = regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`)
	// Of the profile wba: base64 in either alphabet, with or without padding. RE2 bounds repetitions, so the length is compared apart.
	wbaNoncePattern = regexp.MustCompile(`^[A-Za-z0-9+/_-]+={0,2}$`)
)

const wbaNonceMaxLength = 1024

// Ed25519 keys that standards publish, so that everyone has them: RFC 9421 appendix B.1.4, RFC 8037 appendix A.
var publishedTestKeys = map[string]bool{
	"poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U": true,
	"kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k": true,
}

// A Verdict says whether a request is signed.
type Verdict string

const (
	// Verified: the signature is valid.
	Verified Verdict = "verified"
	// Invalid: refuse the request.
	Invalid Verdict = "invalid"
	// Unverified: it could not be decided, so the request proves nothing.
	Unverified Verdict = "unverified"
)

// Verdict and HTTP status of each reason (docs/signed-requests.md).
var meanings = map[string]struct {
	verdict Verdict
	status  int
}{
	"unsigned":                {Unverified, 401},
	"limits":                  {Invalid, 401},
	"malformed":               {Invalid, 401},
	"no-audience":             {Unverified, 401},
	"bad-host":                {Invalid, 400},
	"authority":               {Invalid, 401},
	"insecure":                {Invalid, 401},
	"bad-path":                {Invalid, 400},
	"components":              {Invalid, 401},
	"not-yet-valid":           {Invalid, 401},
	"expired":                 {Invalid, 401},
	"lifetime":                {Invalid, 401},
	"test-key":                {Invalid, 401},
	"delegation-refused":      {Invalid, 403},
	"delegation-invalid":      {Invalid, 401},
	"delegation-expired":      {Invalid, 401},
	"delegation-ended":        {Invalid, 401},
	"untrusted-agent":         {Unverified, 401},
	"unknown-key":             {Unverified, 401},
	"directory-unavailable":   {Unverified, 503},
	"algorithm":               {Invalid, 401},
	"bad-signature":           {Invalid, 401},
	"identification-mismatch": {Invalid, 401},
	"suspended":               {Invalid, 403},
	"revoked":                 {Invalid, 403},
	"delegation-limit":        {Invalid, 403},
	"not-admitted":            {Invalid, 403},
	"nonce":                   {Invalid, 401},
	"replay":                  {Invalid, 401},
	"too-many-requests":       {Unverified, 429},
	"replay-unchecked":        {Unverified, 503},
	"digest":                  {Invalid, 401},
}

// A SigningKey is a key that was found.
type SigningKey struct {
	PublicKey []byte
	// DID is empty for keys that no Countersign service certifies.
	DID string
	// Status is active, suspended or revoked; empty if your policy decides on it.
	Status string
	// Delegation is for Admit: the chain with which the request was sent. Then the key is that of the delegate, and DID and Status are
	// those of the agent. Nil: the agent itself has signed.
	Delegation *Delegation
}

// SignatureRules say which signatures of a signer count. The place of its key decides on them.
type SignatureRules struct {
	// Profile is strict (everything in the request that matters is covered), or wba: requests that change no state may have signatures
	// over the host alone, without a nonce.
	Profile string
	// MaxLifetimeSeconds is the longest time from created to expires.
	MaxLifetimeSeconds int64
}

var agentRules = SignatureRules{Profile: "strict", MaxLifetimeSeconds: maxLifetimeSeconds}

// A KeyLookup finds the key of a signature. If it finds none, reason says why: untrusted-agent, unknown-key or directory-unavailable.
type KeyLookup func(agent SignatureAgent, keyid string) (key SigningKey, reason string)

// A SignatureResult is the result of verifying the signature of a request. Decide by Verdict; Reason is for your log.
type SignatureResult struct {
	Verdict Verdict
	// Reason says why it is not verified, from the closed list of docs/signed-requests.md; empty if it is.
	Reason string
	// Status is the HTTP status for a request that needs proof.
	Status int
	// DID is the agent, once its signature has been checked.
	DID string
	// KeyID is the JWK thumbprint that the signature names; proven only with Verified.
	KeyID string
	// SignatureAgent is where the key is; nil if that could not be read.
	SignatureAgent *SignatureAgent
	// Profile is that of the signer: strict or wba.
	Profile string
	// Replay is checked or unchecked.
	Replay string
	// Digest is checked, unchecked or none.
	Digest string
	// ContentDigest is the covered field, to compare where the body is visible.
	ContentDigest string
	// Delegation is the chain of delegations with which the request was sent: then DID is the agent, and KeyID the delegate's key. Nil
	// without one.
	Delegation *Delegation
}

// VerifierOptions are the options of a RequestVerifier.
type VerifierOptions struct {
	// Audiences are the origins at which agents reach the site, such as https://shop.example. Never take one from a request.
	Audiences []string
	FindKey   KeyLookup
	// Nonces is nil if the caller detects replays itself.
	Nonces NonceStore
	// Naming has the names of the deployment whose agents are expected.
	Naming Naming
	// RulesOf returns the rules for signers whose keys are at a place that you trust besides the service; nil: those for agents. Keys of
	// agents have the rules for agents, whatever it returns.
	RulesOf func(SignatureAgent) *SignatureRules
	// Admit is the policy of the site, asked before the nonce is recorded.
	Admit func(SigningKey, SignatureAgent) bool
	// Now is the clock; by default the system's.
	Now func() time.Time
	// AllowTestKeys accepts keys that standards publish, for tests.
	AllowTestKeys bool
	// Delegation says which chains of delegations are accepted. Nil: none.
	Delegation *DelegationPolicy
	// FindRoot verifies the certificate at the root of a chain. Delegation needs it.
	FindRoot RootLookup

	// proven are chains that were verified, of verifiers that live shorter.
	proven *provenChains
}

// A RequestVerifier verifies Web Bot Auth signatures (RFC 9421). It uses no network, clock or store but those that it is given.
type RequestVerifier struct {
	options    VerifierOptions
	hosts      map[string]bool
	origins    map[string]bool
	singletons []string
}

// NewRequestVerifier returns an error with CodeInvalidArgument if an audience is not an origin, there is no FindKey, or Delegation is out
// of its range or comes without FindRoot.
func NewRequestVerifier(options VerifierOptions) (*RequestVerifier, error) {
	naming, err := options.Naming.withDefaults()
	if err != nil {
		return nil, err
	}
	options.Naming = naming
	if options.FindKey == nil {
		return nil, errorf(CodeInvalidArgument, "A verifier needs FindKey.")
	}
	if options.Delegation != nil {
		if options.FindRoot == nil {
			return nil, errorf(CodeInvalidArgument, "Delegation needs FindRoot.")
		}
		if err := options.Delegation.validate(); err != nil {
			return nil, err
		}
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	if options.proven == nil {
		options.proven = newProvenChains()
	}
	verifier := &RequestVerifier{
		options:    options,
		hosts:      map[string]bool{},
		origins:    map[string]bool{},
		singletons: singletonHeaders(naming.IDHeader),
	}
	for _, each := range options.Audiences {
		url, ok := parseURL(each)
		if !ok || url.path != "" {
			return nil, errorf(CodeInvalidArgument, "The audience %q is not an origin, such as https://shop.example.", each)
		}
		verifier.hosts[url.authority] = true
		verifier.origins[each] = true
	}
	return verifier, nil
}

// Verify verifies the signature of a request.
func (v *RequestVerifier) Verify(request *RawRequest) SignatureResult {
	fields := fieldsOf(request.Headers)
	result := SignatureResult{Replay: "unchecked", Digest: "unchecked"}
	result.settle(v.verify(request, fields, &result))
	return result
}

// settle fills in verdict, reason and status.
func (r *SignatureResult) settle(reason string) {
	r.Reason = reason
	if reason == "" {
		r.Verdict, r.Status = Verified, 200
		return
	}
	r.Verdict, r.Status = meanings[reason].verdict, meanings[reason].status
}

// verify returns the reason of a request that is not verified, and fills in what is known.
func (v *RequestVerifier) verify(request *RawRequest, fields headerFields, result *SignatureResult) string {
	input, reason := readSignature(fields, v.singletons)
	if reason != "" {
		return reason
	}
	result.KeyID, result.SignatureAgent = input.keyid, &input.agent
	received, reason := v.receive(request, fields)
	if reason != "" {
		return reason
	}
	// The place of the key decides on the rules, not what the signature covers.
	rules := v.rulesOf(input.agent)
	result.Profile = rules.Profile
	if reason := v.inputFault(rules, received, input); reason != "" {
		return reason
	}
	checked := checkedRequest{request, received, input, rules}
	certificate, _ := fields.value(strings.ToLower(v.options.Naming.IDHeader) + "-certificate")
	if isChain(certificate) {
		return v.verifyDelegated(checked, certificate, result)
	}
	key, reason := v.options.FindKey(input.agent, input.keyid)
	if reason != "" {
		return reason
	}
	return v.verifyBy(checked, key, input.keyid, result)
}

// A checkedRequest is what was checked before the key is known.
type checkedRequest struct {
	request  *RawRequest
	received signedParts
	input    signatureInput
	rules    SignatureRules
}

// verifyBy is the steps after the lookup of the key. agentKeyID is the key whose share of the nonce store the request takes.
func (v *RequestVerifier) verifyBy(checked checkedRequest, key SigningKey, agentKeyID string, result *SignatureResult) string {
	request, received, input, rules := checked.request, checked.received, checked.input, checked.rules
	fields, reason := received.fields, ""
	if reason := signatureFault(received, input, key); reason != "" {
		return reason
	}
	if key.DID != "" {
		rules = agentRules
	}
	result.DID, result.Profile = key.DID, rules.Profile
	if covers(input.components, "content-digest") {
		result.ContentDigest, _ = fields.value("content-digest")
	}
	if reason := v.agentFault(received, input, key); reason != "" {
		return reason
	}
	if key.Delegation != nil && !key.Delegation.Hops[key.Delegation.Depth-1].Limits.allow(received) {
		return "delegation-limit"
	}
	if v.options.Admit != nil && !v.options.Admit(key, input.agent) {
		return "not-admitted"
	}
	if result.Replay, reason = v.recordNonce(rules, received.method, input, agentKeyID); reason != "" {
		return reason
	}
	result.Digest, reason = digestOf(result.ContentDigest, covers(input.components, "content-digest"), received.hasContent, request)
	return reason
}

func (v *RequestVerifier) rulesOf(agent SignatureAgent) SignatureRules {
	if v.options.RulesOf != nil {
		if rules := v.options.RulesOf(agent); rules != nil {
			return *rules
		}
	}
	return agentRules
}

func (v *RequestVerifier) receive(request *RawRequest, fields headerFields) (signedParts, string) {
	if len(v.origins) == 0 {
		return signedParts{}, "no-audience"
	}
	authority, ok := readAuthority(request, fields)
	if !ok {
		return signedParts{}, "bad-host"
	}
	if !v.hosts[authority] {
		return signedParts{}, "authority"
	}
	origin := request.Scheme + "://" + authority
	// @authority does not cover the scheme, so what was captured on http would verify as https.
	if !isSecureOrigin(origin) {
		return signedParts{}, "insecure"
	}
	if !v.origins[origin] {
		if request.Scheme == "http" {
			return signedParts{}, "insecure"
		}
		return signedParts{}, "authority"
	}
	path, query, ok := readPath(request.Target)
	if !ok {
		return signedParts{}, "bad-path"
	}
	return signedParts{request.Method, origin, path, query, fields, request.hasContent(fields)}, ""
}

// inputFault checks what the signature says about itself.
func (v *RequestVerifier) inputFault(rules SignatureRules, received signedParts, input signatureInput) string {
	if !v.coversEnough(rules, received, input) {
		return "components"
	}
	if input.exceedsLifetime(rules) {
		return "lifetime"
	}
	now := unixSeconds(v.options.Now())
	if float64(input.created) > now+maxClockSkewSeconds {
		return "not-yet-valid"
	}
	if float64(input.expires) < now {
		return "expired"
	}
	if !v.options.AllowTestKeys && publishedTestKeys[input.keyid] {
		return "test-key"
	}
	return ""
}

func (v *RequestVerifier) coversEnough(rules SignatureRules, received signedParts, input signatureInput) bool {
	if rules.Profile == "wba" && isSafeMethod(received.method) {
		return covers(input.components, "@authority") || covers(input.components, "@target-uri")
	}
	own := strings.ToLower(v.options.Naming.IDHeader)
	for _, each := range strictComponents(received, component{name: "signature-agent"}, own) {
		// Whether the identification header is covered is checked once the key is known.
		if each.name != own && !covers(input.components, each.name) {
			return false
		}
	}
	// @query has the same value for a lone ? as for no query.
	return received.query != "" || !covers(input.components, "@query")
}

func signatureFault(received signedParts, input signatureInput, key SigningKey) string {
	if KeyThumbprint(key.PublicKey) != input.keyid {
		return "unknown-key"
	}
	if input.hasAlg && input.alg != "ed25519" {
		return "algorithm"
	}
	base, err := signatureBase(received, input.components, input.params)
	if err != nil {
		return "malformed"
	}
	verify := verifySignature
	if key.Delegation != nil {
		verify = verifyDelegated
	}
	if !verify(key.PublicKey, []byte(base), input.signature) {
		return "bad-signature"
	}
	return ""
}

func (v *RequestVerifier) agentFault(received signedParts, input signatureInput, key SigningKey) string {
	naming := v.options.Naming
	// Agents of a Countersign service can always sign everything, also if a directory has their key.
	if key.DID != "" {
		if !v.coversEnough(agentRules, received, input) {
			return "components"
		}
		if input.exceedsLifetime(agentRules) {
			return "lifetime"
		}
	}
	name := strings.ToLower(naming.IDHeader)
	if identification, ok := received.fields.value(name); ok {
		tail, isTail := naming.tailOf(identification)
		own, isOwn := naming.tailOf(key.DID)
		if !isTail || !isOwn || tail != own || !covers(input.components, name) {
			return "identification-mismatch"
		}
	}
	if key.Status == "suspended" || key.Status == "revoked" {
		return key.Status
	}
	return ""
}

// recordNonce returns whether the replay was checked, or the reason to refuse.
func (v *RequestVerifier) recordNonce(rules SignatureRules, method string, input signatureInput, agentKeyID string) (replay, reason string) {
	isSafe, isWBA := isSafeMethod(method), rules.Profile == "wba"
	if isWBA && !input.hasNonce && isSafe {
		return "unchecked", ""
	}
	isNonce := noncePattern.MatchString(input.nonce)
	if isWBA {
		isNonce = wbaNoncePattern.MatchString(input.nonce) && len(strings.TrimRight(input.nonce, "=")) <= wbaNonceMaxLength
	}
	if !input.hasNonce || !isNonce {
		return "unchecked", "nonce"
	}
	if v.options.Nonces == nil {
		return "unchecked", ""
	}
	hash := sha256.Sum256([]byte(fmt.Sprintf("%s %s", input.keyid, input.nonce)))
	// Signatures of a day must not fill the store: of an older one, nobody can tell.
	rememberedUntil := input.created + maxLifetimeSeconds
	if input.expires < rememberedUntil {
		rememberedUntil = input.expires
	}
	outcome := NonceUnchecked
	if unixSeconds(v.options.Now()) <= float64(rememberedUntil) {
		recorded, err := v.options.Nonces.Record(UsedNonce{
			KeyID:     agentKeyID,
			Nonce:     input.nonce,
			Hash:      encodeBase64URL(hash[:]),
			CreatedAt: input.created,
			ExpiresAt: rememberedUntil + maxClockSkewSeconds,
		})
		if err == nil {
			outcome = recorded
		}
	}
	switch {
	case outcome == NonceUsed:
		return "unchecked", "replay"
	case outcome == NonceShareExceeded:
		return "unchecked", "too-many-requests"
	case outcome == NonceFresh:
		return "checked", ""
	case isSafe:
		return "unchecked", ""
	default:
		return "unchecked", "replay-unchecked"
	}
}

func digestOf(field string, isCovered, hasContent bool, request *RawRequest) (digest, reason string) {
	if !isCovered {
		if hasContent {
			return "unchecked", ""
		}
		return "none", ""
	}
	if request.Body != nil {
		if !matchesContentDigest(field, request.Body) {
			return "unchecked", "digest"
		}
		return "checked", ""
	}
	if _, ok := parseContentDigest(field); !ok {
		return "unchecked", "digest"
	}
	return "unchecked", ""
}
