package countersign

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

const (
	// How long a call to the service may take.
	gateTimeout = 2 * time.Second
	// How long after asking for an unknown key the service is not asked for another one of the same agent.
	keyRefreshPause = 5 * time.Second
	// For a store of nonces that does not say when to try again, in seconds.
	storeRetrySeconds = 5
)

// GateOptions are the options of NewGate.
type GateOptions struct {
	// Policy is its JSON, the same file as for the gateway in TypeScript (packages/gateway/README.md). Empty: the default policy.
	Policy []byte
	// Audiences are the origins at which agents reach the site, such as https://shop.example. Without them, no signature counts.
	Audiences []string
	// Nonces is where used nonces are stored; by default in the memory of this process, so several processes need one.
	Nonces NonceStore
	// Naming has the names of the service, if it has others.
	Naming Naming
	// Issuer is the public address of the service, if the service is asked at an internal one.
	Issuer string
	// Transport sends the requests to the service; by default http.DefaultTransport.
	Transport http.RoundTripper
	// TLSTerminated: clients reach a proxy in front of this server by https.
	TLSTerminated bool
	// ClientAddress returns the address of a client, for rate limits. By default that of the connection, which behind a proxy is the
	// proxy's.
	ClientAddress func(*http.Request) string
	// OnDecision is called with each decision of the middleware, for your log.
	OnDecision func(*http.Request, *Decision)

	// now is the clock of tests.
	now func() time.Time
}

// A Gate decides on requests by a policy. Middleware puts it in front of an http.Handler.
type Gate struct {
	options  GateOptions
	registry *Registry
	naming   Naming
	policy   *Policy
	issuer   string
	nonces   NonceStore
	now      func() time.Time

	agents      *agentCache
	buckets     *tokenBuckets
	refreshedAt *boundedMap[string, time.Time]
	proven      *provenChains
}

// NewGate returns a gate for the agents of a service, at its origin, such as https://id.example. The error is a *PolicyError with all
// mistakes, or an *Error with CodeInvalidArgument.
func NewGate(service string, options GateOptions) (*Gate, error) {
	registry, err := NewRegistry(service, RegistryOptions{Naming: options.Naming, Timeout: gateTimeout, Transport: options.Transport})
	if err != nil {
		return nil, err
	}
	policy, err := ReadPolicy(options.Policy, registry.Naming)
	if err != nil {
		return nil, err
	}
	gate := &Gate{
		options:     options,
		registry:    registry,
		naming:      registry.Naming,
		policy:      policy,
		issuer:      options.Issuer,
		nonces:      options.Nonces,
		now:         options.now,
		buckets:     newTokenBuckets(policy.limitRequests, policy.limitSeconds),
		refreshedAt: newBoundedMap[string, time.Time](maxCachedAgents),
		proven:      newProvenChains(),
	}
	if gate.issuer == "" {
		gate.issuer = registry.Service
	}
	if mistakes := gate.mistakes(); len(mistakes) > 0 {
		return nil, &PolicyError{mistakes}
	}
	if gate.nonces == nil {
		gate.nonces = NewMemoryNonceStore(MemoryNonceStoreOptions{Now: gate.now})
	}
	if gate.now == nil {
		gate.now = time.Now
	}
	registry.issuerData.elapsed = gate.now
	withGrade, withKey := false, len(options.Audiences) > 0
	for _, each := range policy.allRules() {
		withGrade = withGrade || each.minimumGrade != ""
		withKey = withKey || each.minimumKeyAgeSeconds > 0 || each.minimumOwnerAgeSeconds > 0
	}
	gate.agents = newAgentCache(registry, policy.cacheSeconds, withGrade, withKey, gate.now)
	return gate, nil
}

func (g *Gate) mistakes() []string {
	var mistakes []string
	for i, each := range g.options.Audiences {
		if !isOrigin(each) {
			mistakes = append(mistakes, fmt.Sprintf("audiences[%d] takes an origin such as https://shop.example", i))
		}
	}
	if !isOrigin(g.issuer) {
		mistakes = append(mistakes, "issuer takes an origin such as https://shop.example")
	}
	if len(g.options.Audiences) > 0 {
		return mistakes
	}
	for i, each := range g.policy.allRules() {
		if !each.requireProof {
			continue
		}
		place := "policy"
		if i < len(g.policy.routes) {
			place = fmt.Sprintf("policy.routes[%d]", i)
		}
		mistakes = append(mistakes, place+".requireProof needs `audiences`: without them, nobody can prove anything")
	}
	return mistakes
}

// Decide decides on a request. address is that of the client, for rate limits. If the gateway itself fails, the policy's rule for an
// unreachable service applies.
func (g *Gate) Decide(request *RawRequest, address string) (decision *Decision) {
	rules := g.policy.rulesFor(request.Method, request.Target)
	defer func() {
		// Whatever fails here, such as a nonce store, must not let a request through.
		if recover() != nil {
			rulings := make([]ruling, len(rules))
			for i, each := range rules {
				rulings[i] = failureRuling(each, g.carriesChain(fieldsOf(request.Headers)))
			}
			decision = decisionOf(g.policy.mode, caller{}, strictest(rulings), basis{ageSeconds: -1})
		}
	}()
	return g.decide(request, rules, address)
}

func (g *Gate) decide(request *RawRequest, rules []*policyRules, address string) *Decision {
	fields := fieldsOf(request.Headers)
	origin, _ := fields.value("origin")
	requested, _ := fields.value("access-control-request-method")
	if g.policy.preflight == "pass" && request.Method == "OPTIONS" && origin != "" && requested != "" {
		preflight := ruling{action: ActionAllow, reasons: []Reason{{"preflight", "The request is a CORS preflight."}}}
		return decisionOf(g.policy.mode, caller{}, preflight, basis{ageSeconds: -1})
	}
	if !fields.has("signature") && !fields.has("signature-input") {
		return g.decideUnsigned(fields, rules, address)
	}
	if len(g.options.Audiences) == 0 {
		unverified := &SignatureResult{Replay: "unchecked", Digest: "unchecked"}
		unverified.settle("no-audience")
		return withUnverifiedSignature(*g.decideUnverified(fields, rules, address), unverified, 0)
	}
	return g.decideSigned(request, fields, rules, address)
}

// decideUnverified decides on a request whose signature could not be verified. A chain of delegations counts only with the signature:
// without it, the header does not admit the request.
func (g *Gate) decideUnverified(fields headerFields, rules []*policyRules, address string) *Decision {
	if g.carriesChain(fields) {
		return g.evaluate(rules, caller{kind: callerDelegationUnproven}, nil, "")
	}
	return g.decideUnsigned(fields, rules, address)
}

func (g *Gate) carriesChain(fields headerFields) bool {
	certificate, _ := fields.value(strings.ToLower(g.naming.IDHeader) + "-certificate")
	return isChain(certificate)
}

func (g *Gate) decideUnsigned(fields headerFields, rules []*policyRules, address string) *Decision {
	identification, ok := fields.value(strings.ToLower(g.naming.IDHeader))
	if !ok {
		return g.limited(g.evaluate(rules, caller{kind: callerNone}, nil, ""), address)
	}
	tail, ok := g.naming.tailOf(identification)
	if !ok {
		return g.limited(g.evaluate(rules, caller{kind: callerUnreadable}, nil, ""), address)
	}
	who := caller{kind: callerNamed, did: g.naming.didOf(tail)}
	result, source := lookupResult{}, "cache"
	if cached, ok := g.agents.fresh(who.did); ok {
		result = lookupResult{answered: true, agent: cached.agent}
	} else {
		result, source = g.agents.lookup(who.did), "service"
	}
	return g.limited(g.evaluate(rules, who, &result, source), address)
}

func (g *Gate) decideSigned(request *RawRequest, fields headerFields, rules []*policyRules, address string) *Decision {
	var found *lookupResult
	var source string
	recorder := &nonceRecorder{store: g.nonces}
	verifier, err := NewRequestVerifier(VerifierOptions{
		Audiences: g.options.Audiences,
		FindKey: func(agent SignatureAgent, keyid string) (SigningKey, string) {
			did, ok := g.naming.didOfKeySet(g.issuer, agent.URL)
			if !ok {
				return SigningKey{}, "untrusted-agent"
			}
			result, from := g.lookupKey(did, keyid)
			found, source = &result, from
			if result.agent != nil && result.agent.keyid == keyid && result.agent.publicKey != nil {
				// No status: the policy decides on it.
				return SigningKey{PublicKey: result.agent.publicKey, DID: did}, ""
			}
			if result.answered {
				return SigningKey{}, "unknown-key"
			}
			return SigningKey{}, "directory-unavailable"
		},
		Nonces: recorder,
		Naming: g.naming,
		Admit: func(key SigningKey, _ SignatureAgent) bool {
			who := caller{kind: callerNamed, did: key.DID, isProven: true, delegation: key.Delegation}
			return g.policy.mode == "shadow" || g.ruling(rules, who, found).action != ActionDeny
		},
		Now:        g.now,
		Delegation: everyChain,
		FindRoot: func(root DelegationRoot) (SigningKey, string) {
			key, lookup, from, reason := g.findRoot(root)
			found, source = lookup, from
			return key, reason
		},
		proven: g.proven,
	})
	if err != nil {
		panic(err)
	}
	signature := verifier.Verify(request)
	switch {
	case signature.Verdict == Verified || signature.Reason == "not-admitted":
		who := caller{kind: callerNamed, did: signature.DID, isProven: true, delegation: signature.Delegation}
		decision := g.evaluate(rules, who, found, source)
		if signature.Reason == "not-admitted" && decision.Reasons[0].Code == "delegation-refused" {
			signature.Reason = "delegation-refused"
		}
		decision.Signature = &signature
		return g.limited(decision, address)
	case signature.Verdict == Unverified:
		decision := g.decideUnverified(fields, rules, address)
		return withUnverifiedSignature(*decision, &signature, recorder.retryAfterSeconds())
	}
	decision := g.evaluate(rules, refusedCaller(&signature), nil, "")
	decision.Signature = &signature
	return decision
}

func invalidCaller(status int) caller {
	if status != 400 && status != 403 {
		status = 401
	}
	return caller{kind: callerSignatureInvalid, status: status}
}

func (g *Gate) lookupKey(did, keyid string) (lookupResult, string) {
	if cached, ok := g.agents.fresh(did); ok {
		refreshedAt, refreshed := g.refreshedAt.get(did)
		isRecent := refreshed && g.now().Sub(refreshedAt) < keyRefreshPause
		if cached.agent == nil || cached.agent.keyid == keyid || isRecent {
			return lookupResult{answered: true, agent: cached.agent}, "cache"
		}
		g.refreshedAt.set(did, g.now())
	}
	return g.agents.lookup(did), "service"
}

// evaluate decides by the rules. result is nil if the request names no agent.
func (g *Gate) evaluate(rules []*policyRules, who caller, result *lookupResult, source string) *Decision {
	from := basis{issuer: g.issuer, ageSeconds: -1}
	if result != nil && result.answered {
		from.source, from.ageSeconds = source, 0
		if source == "cache" {
			from.ageSeconds = g.policy.cacheSeconds
		}
	}
	return decisionOf(g.policy.mode, who, g.ruling(rules, who, result), from)
}

func (g *Gate) ruling(rules []*policyRules, who caller, result *lookupResult) ruling {
	rulings := make([]ruling, len(rules))
	for i, each := range rules {
		rulings[i] = decide(each, g.naming.IDHeader, who, result)
	}
	return strictest(rulings)
}

func (g *Gate) limited(decision *Decision, address string) *Decision {
	if decision.Action != ActionLimit {
		return decision
	}
	// Apart, so that a caller without proof cannot use up the limit of the agent that it names.
	key := addressKey(address)
	if decision.DID != "" && decision.Status != "" {
		key = decision.Proof + " " + decision.DID
	}
	if seconds := g.buckets.take(key, g.now()); seconds > 0 {
		return rateLimited(*decision, seconds)
	}
	return decision
}

// CheckBody compares a body with the digest that the agent signed. Call it with the body of each request for which NeedsBody is true.
func (g *Gate) CheckBody(decision *Decision, request *RawRequest, body []byte) *Decision {
	if !g.NeedsBody(decision) {
		return decision
	}
	signature := *decision.Signature
	reason := ""
	switch {
	case signature.ContentDigest == "" && len(body) > 0:
		reason = "components"
	case signature.ContentDigest == "":
		signature.Digest = "none"
	case !matchesContentDigest(signature.ContentDigest, body):
		reason = "digest"
	default:
		signature.Digest = "checked"
	}
	if reason == "" {
		checked := *decision
		checked.Signature = &signature
		return &checked
	}
	signature.settle(reason)
	refused := g.evaluate(g.policy.rulesFor(request.Method, request.Target), invalidCaller(signature.Status), nil, "")
	refused.Signature = &signature
	return refused
}

// NeedsBody reports whether the body has to be compared before the request is passed on.
func (g *Gate) NeedsBody(decision *Decision) bool {
	signature := decision.Signature
	return decision.Admitted && signature != nil && signature.Verdict == Verified && signature.Digest != "checked"
}

// A nonceRecorder is a store that remembers when the signature of one request was made.
type nonceRecorder struct {
	store     NonceStore
	createdAt int64
}

func (r *nonceRecorder) Record(nonce UsedNonce) (NonceOutcome, error) {
	r.createdAt = nonce.CreatedAt
	return r.store.Record(nonce)
}

func (r *nonceRecorder) retryAfterSeconds() int {
	if challenger, ok := r.store.(NonceChallenger); ok {
		return challenger.RetryAfterSeconds(r.createdAt)
	}
	return storeRetrySeconds
}
