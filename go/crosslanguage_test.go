package countersign

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"
	"os"
	"sort"
	"testing"
	"time"
)

// What test/go.slow.test.ts and test/differential.slow.test.ts ask this package: each line of the file COUNTERSIGN_CASES is a case in
// JSON, and each line of the file COUNTERSIGN_ANSWERS its answer.
func TestCrossLanguage(t *testing.T) {
	cases, answers := os.Getenv("COUNTERSIGN_CASES"), os.Getenv("COUNTERSIGN_ANSWERS")
	if cases == "" {
		t.Skip("a test in TypeScript runs this")
	}
	data, err := os.ReadFile(cases)
	if err != nil {
		t.Fatal(err)
	}
	comparison := newComparison(t)
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var each comparedCase
		if err := json.Unmarshal(lines.Bytes(), &each); err != nil {
			t.Fatal(err)
		}
		if err := encoder.Encode(comparison.answer(t, each)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(answers, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

type comparedCase struct {
	// Kind is decision, mistakes, signature, request, chain, certificate, staple or list.
	Kind string
	// Of decisions and mistakes.
	ShortName, IDHeader, Method, Target string
	Policy                              json.RawMessage
	Audiences                           []string
	Headers                             [][2]string
	Caller                              struct {
		Kind, DID, Proof string
		Status           int
		Delegation       *comparedChain
	}
	Result *struct {
		Kind  string
		Agent *comparedAgent
		Last  *struct {
			Agent      *comparedAgent
			AgeSeconds float64
		}
	}
	// Of requests.
	Request vectorRequest
	Now     int64
	Rules   *SignatureRules
	// Of tokens.
	Token string
	// Of signatures, in hexadecimal.
	PublicKeyHex, MessageHex, SignatureHex string
}

type comparedChain struct {
	Depth int
	Keyid string
	Hops  []vectorHop
}

func (c *comparedChain) delegation() *Delegation {
	if c == nil {
		return nil
	}
	chain := &Delegation{Depth: c.Depth, KeyID: c.Keyid}
	for _, each := range c.Hops {
		chain.Hops = append(chain.Hops, each.hop())
	}
	return chain
}

type comparedAgent struct {
	DID, Status     string
	Verified        bool
	IdentityMethod  *string
	Grade           string
	KeyAgeSeconds   float64
	OwnerAgeSeconds *float64
}

func (a *comparedAgent) data() *agentData {
	if a == nil {
		return nil
	}
	found := &agentData{did: a.DID, status: a.Status, verified: a.Verified, identityMethod: a.IdentityMethod, grade: a.Grade, keyAgeSeconds: a.KeyAgeSeconds}
	found.ownerAgeSeconds = math.Inf(1)
	if a.OwnerAgeSeconds != nil {
		found.ownerAgeSeconds = *a.OwnerAgeSeconds
	}
	return found
}

type comparison struct {
	chains   *RequestVerifier
	requests requestVectors
	tokens   tokenVectors
	options  TokenOptions
}

func newComparison(t *testing.T) *comparison {
	found := &comparison{}
	readVectors(t, "http-signatures", &found.requests)
	delegations, _ := readDelegationVectors(t)
	found.chains = delegations.verifier(t, delegationCase{}, nil)
	found.tokens, found.options = readTokenVectors(t)
	return found
}

func (c *comparison) answer(t *testing.T, each comparedCase) any {
	switch each.Kind {
	case "decision":
		return decisionAnswer(t, each)
	case "mistakes":
		_, err := ReadPolicy(each.Policy, Naming{each.ShortName, each.IDHeader})
		if mistakes, ok := err.(*PolicyError); ok {
			return mistakes.Mistakes
		}
		return []string{}
	case "signature":
		return verifySignature(unhex(t, each.PublicKeyHex), unhex(t, each.MessageHex), unhex(t, each.SignatureHex))
	case "request":
		return c.requestAnswer(t, each)
	case "chain":
		return c.chainAnswer(each)
	}
	answer, err := c.tokenAnswer(each)
	if err != nil {
		return err.(*Error).Code
	}
	return answer
}

// orNull is null for an empty text, as TypeScript has it.
func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

var comparedKinds = map[string]callerKind{
	"none": callerNone, "unreadable": callerUnreadable, "signature-invalid": callerSignatureInvalid,
	"certificate-invalid": callerCertificateInvalid, "certificate-replaced": callerCertificateReplaced,
	"delegation-refused": callerDelegationRefused, "delegation-limit": callerDelegationLimit, "delegation-unproven": callerDelegationUnproven,
}

func decisionAnswer(t *testing.T, each comparedCase) any {
	gate, err := NewGate("https://id.example", GateOptions{
		Policy: each.Policy, Audiences: each.Audiences, Naming: Naming{each.ShortName, each.IDHeader}, Nonces: olderNonces(),
	})
	if err != nil {
		t.Fatal(err)
	}
	who := caller{kind: callerNamed, did: each.Caller.DID, isProven: each.Caller.Proof == "signature", status: each.Caller.Status}
	who.delegation = each.Caller.Delegation.delegation()
	if kind, ok := comparedKinds[each.Caller.Kind]; ok {
		who.kind = kind
	}
	var result *lookupResult
	if each.Result != nil {
		result = &lookupResult{answered: each.Result.Kind == "answered", agent: each.Result.Agent.data()}
		if each.Result.Last != nil {
			result.agent, result.ageSeconds, result.hasAge = each.Result.Last.Agent.data(), each.Result.Last.AgeSeconds, true
		}
	}
	rules, indexes := gate.policy.rulesFor(each.Method, each.Target), []int{}
	for _, one := range rules {
		for i, other := range gate.policy.allRules() {
			if one == other {
				indexes = append(indexes, i)
			}
		}
	}
	decision := gate.evaluate(rules, who, result, "service")
	raw := &RawRequest{Method: each.Method, Scheme: "https", Authority: "shop.example", Target: each.Target}
	for _, header := range each.Headers {
		raw.Headers = append(raw.Headers, HeaderField{header[0], header[1]})
	}
	return map[string]any{
		"rules": indexes, "decision": decisionJSON(decision),
		"forwarded": pairsOf(gate.ForwardedHeaders(decision), true), "denial": denialJSON(gate.Denial(decision, raw)),
	}
}

func decisionJSON(decision *Decision) any {
	reasons := []any{}
	for _, each := range decision.Reasons {
		reasons = append(reasons, map[string]string{"code": each.Code, "message": each.Message})
	}
	var refusal, age any
	if found := decision.Refusal; found != nil {
		members := map[string]any{"status": found.Status, "code": found.Code, "message": found.Message, "retryAfterSeconds": nil}
		if found.RetryAfterSeconds > 0 {
			members["retryAfterSeconds"] = found.RetryAfterSeconds
		}
		refusal = members
	}
	if decision.StatusAgeSeconds >= 0 {
		age = decision.StatusAgeSeconds
	}
	return map[string]any{
		"action": decision.Action, "admitted": decision.Admitted, "mode": decision.Mode, "level": orNull(decision.Level),
		"reasons": reasons, "refusal": refusal, "did": orNull(decision.DID), "status": orNull(decision.Status),
		"verified": decision.Verified, "identityLevel": orNull(decision.IdentityLevel), "grade": orNull(decision.Grade),
		"issuer": orNull(decision.Issuer), "source": orNull(decision.Source), "statusAgeSeconds": age, "proof": decision.Proof,
		"proofOfPossession": decision.Proven(), "directory": nil, "delegation": delegateJSON(decision.Delegation), "approval": nil,
	}
}

func delegateJSON(delegate *Delegate) any {
	if delegate == nil {
		return nil
	}
	return map[string]any{"keyid": delegate.KeyID, "depth": delegate.Depth, "expiresAt": delegate.ExpiresAt.UnixMilli()}
}

func pairsOf(headers []HeaderField, sorted bool) [][2]string {
	pairs := [][2]string{}
	for _, each := range headers {
		pairs = append(pairs, [2]string{each.Name, each.Value})
	}
	if sorted {
		sort.Slice(pairs, func(i, j int) bool { return pairs[i][0] < pairs[j][0] })
	}
	return pairs
}

func denialJSON(denial *Denial) any {
	if denial == nil {
		return nil
	}
	return map[string]any{"status": denial.Status, "headers": pairsOf(denial.Headers, false), "body": string(denial.Body)}
}

type freshNonces struct{}

func (freshNonces) Record(UsedNonce) (NonceOutcome, error) { return NonceFresh, nil }

func (c *comparison) requestAnswer(t *testing.T, each comparedCase) any {
	verifier, err := NewRequestVerifier(VerifierOptions{
		Audiences: c.requests.Audiences,
		FindKey: func(agent SignatureAgent, keyid string) (SigningKey, string) {
			key, reason := c.requests.findKey(t)(agent, keyid)
			if reason != "" {
				reason = "untrusted-agent"
			}
			return key, reason
		},
		Nonces:  freshNonces{},
		Naming:  Naming{c.requests.ShortName, c.requests.IDHeader},
		RulesOf: func(SignatureAgent) *SignatureRules { return each.Rules },
		Now:     func() time.Time { return time.UnixMilli(each.Now) },
	})
	if err != nil {
		t.Fatal(err)
	}
	result := verifier.Verify(each.Request.raw())
	var dialect, url any
	if result.SignatureAgent != nil {
		dialect, url = result.SignatureAgent.Dialect, result.SignatureAgent.URL
	}
	return []any{
		result.Verdict, orNull(result.Reason), orNull(result.Profile), orNull(result.DID), orNull(result.KeyID), dialect, url,
		result.Replay, result.Digest, orNull(result.ContentDigest),
	}
}

func (c *comparison) chainAnswer(each comparedCase) any {
	result := c.chains.Verify(each.Request.raw())
	var told any
	if found := result.Delegation; found != nil {
		hops := []any{}
		for _, hop := range found.Hops {
			limits := hop.Limits
			hops = append(hops, []any{
				hop.KeyID, hop.IssuedAt.Unix(), hop.ExpiresAt.Unix(), hop.MaxDepth, limits.Origins, limits.Methods, limits.Paths, limits.MCP,
			})
		}
		told = []any{found.Depth, orNull(found.KeyID), orNull(found.Fault), hops}
	}
	return []any{result.Verdict, orNull(result.Reason), orNull(result.DID), orNull(result.KeyID), told}
}

func (c *comparison) tokenAnswer(each comparedCase) (any, error) {
	switch each.Kind {
	case "certificate":
		found, err := VerifyCertificate(each.Token, c.options)
		if err != nil {
			return nil, err
		}
		var index any
		if found.Log != nil {
			index = found.Log.Index
		}
		return []any{
			found.DID, found.KeyThumbprint, found.KeySequence, found.KeyChangedAt, found.Grade, orNull(found.Assurance),
			orNull(found.OwnerChangedAt), orNull(found.IdentityMethod), found.StatusList.Idx, found.IssuedAt.Unix(), index,
		}, nil
	case "staple":
		found, err := VerifyStaple(each.Token, c.options)
		if err != nil {
			return nil, err
		}
		return []any{found.DID, found.KeyThumbprint, found.Status, found.Grade, found.IssuedAt.Unix(), numberOf(found.Feed)}, nil
	default:
		found, err := VerifyStatusList(each.Token, c.tokens.Issuer, c.tokens.StatusLists.URI, c.options)
		if err != nil {
			return nil, err
		}
		digest := sha256.Sum256(found.entries)
		return []any{hex.EncodeToString(digest[:]), found.IssuedAt.UnixMilli(), numberOf(found.Feed)}, nil
	}
}

func numberOf(position *FeedPosition) any {
	if position == nil {
		return nil
	}
	return position.N
}
