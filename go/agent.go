package countersign

import (
	"context"
	"errors"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

const (
	// How long a signature of a request is valid.
	signatureLifetimeSeconds = 60
	maxChallengeBytes        = 8192
)

var (
	claimTokenDigits = regexp.MustCompile(`^[0-9a-f]{32}$`)
	boundChallenge   = regexp.MustCompile(`(?i)^[a-z][a-z0-9]{0,15}-challenge-v1:`)
)

// AgentOptions are the options of NewAgent.
type AgentOptions struct {
	// DID of the agent, if it is known. Otherwise Claim and WhoAmI find it out, and Transport asks once.
	DID string
	// Audiences are the origins that the agent signs requests for, such as https://shop.example; https, on loopback also http. Every
	// recipient of a signature can use it as proof, so never take an origin from the text of a site or a model.
	Audiences []string
	// Now is the clock; by default the system's.
	Now func() time.Time
}

// An Agent of a Countersign service, with its key. It may be used by several goroutines.
type Agent struct {
	registry  *Registry
	key       *AgentKey
	audiences map[string]bool
	now       func() time.Time

	mutex sync.Mutex
	did   string
}

// NewAgent returns an agent of a service. The error has CodeInvalidArgument.
func NewAgent(registry *Registry, key *AgentKey, options AgentOptions) (*Agent, error) {
	if registry == nil || key == nil {
		return nil, errorf(CodeInvalidArgument, "An agent needs a registry and a key.")
	}
	agent := &Agent{registry: registry, key: key, audiences: map[string]bool{}, now: options.Now}
	if agent.now == nil {
		agent.now = time.Now
	}
	if options.DID != "" {
		tail, ok := registry.Naming.tailOf(options.DID)
		if !ok {
			return nil, errorf(CodeInvalidArgument, "A DID of this service is %s and 24 base58 characters.", registry.Naming.didPrefix())
		}
		agent.did = registry.Naming.didOf(tail)
	}
	for _, each := range options.Audiences {
		origin := strings.TrimSuffix(each, "/")
		if !isOrigin(origin) {
			return nil, errorf(CodeInvalidArgument, "The audience %q is not an origin, such as https://shop.example.", each)
		}
		if !isSecureOrigin(origin) {
			return nil, errorf(CodeInvalidArgument, "%s is not https, so others could use a signature for it.", origin)
		}
		agent.audiences[origin] = true
	}
	return agent, nil
}

// DID returns the DID of the agent; "" until this object knows it.
func (a *Agent) DID() string {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return a.did
}

func (a *Agent) setDID(did string) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.did = did
}

// PublicKey returns 32 bytes in padded standard base64.
func (a *Agent) PublicKey() string { return a.key.PublicKey() }

// Claim redeems a claim token that the owner issued: the agent gets a certificate and a DID (contract 4.4). If the key has a
// certificate already, it returns that DID without using the token, so that a program can call it at every start.
//
// token is svc-verify- and 32 hexadecimal characters, a secret until it is used. agentID is your label for this agent, 1 to 128
// characters. Errors have the codes of the service, such as TOKEN_EXPIRED and NOT_FOUND; CodeOutcomeUnknown if the claim was sent
// without a response: call Claim again, or WhoAmI.
func (a *Agent) Claim(ctx context.Context, token, agentID string) (string, error) {
	info, err := a.WhoAmI(ctx)
	if err == nil {
		return info.DID, nil
	}
	if !errors.Is(err, &Error{Code: "NOT_FOUND"}) {
		return "", err
	}
	prefix := a.registry.Naming.claimTokenPrefix()
	digits, ok := cutPrefix(token, prefix)
	if !ok || !claimTokenDigits.MatchString(digits) {
		return "", errorf(CodeInvalidArgument, "A claim token of this service is %s and 32 hexadecimal characters.", prefix)
	}
	if !utf8.ValidString(agentID) {
		return "", errorf(CodeInvalidArgument, "The label of an agent is text in UTF-8.")
	}
	answer, err := a.registry.call(ctx, "POST", "/api/v1/claim", map[string]string{
		"claimToken": token,
		"agentId":    agentID,
		"publicKey":  a.key.PublicKey(),
		"signature":  encodeBase64(a.key.sign([]byte(token + "|" + agentID))),
	})
	if errors.Is(err, &Error{Code: CodeNetwork}) {
		return "", &Error{
			Code:    CodeOutcomeUnknown,
			Message: "The claim was sent, and its outcome is unknown. Call Claim again, or WhoAmI.",
			Cause:   err,
		}
	}
	if err != nil {
		return "", err
	}
	did, ok := answer.text(a.registry.Naming.didField())
	if !ok {
		return "", protocolError(200)
	}
	a.setDID(did)
	return did, nil
}

// WhoAmI returns the agent object of this agent, found by its DID or, if that is not known, by its key. NOT_FOUND if the key has no
// certificate.
func (a *Agent) WhoAmI(ctx context.Context) (AgentInfo, error) {
	name := a.DID()
	if name == "" {
		name = a.key.PublicKey()
	}
	info, err := a.registry.Agent(ctx, name)
	if err == nil {
		a.setDID(info.DID)
	}
	return info, err
}

// An Answer is the answer of an agent to a challenge.
type Answer struct {
	// DID is empty if the agent does not know it.
	DID string
	// PublicKey and Signature are in base64.
	PublicKey string
	Challenge string
	Signature string
}

// Answer signs a challenge svc-challenge-v1:<audience>:<nonce> if its audience is the site that this agent talks to.
//
// audience is the origin that this agent connected to; never take it from the challenge. The error has CodeLooksLikeAClaim,
// CodeNotAChallenge or CodeWrongAudience.
func (a *Agent) Answer(challenge, audience string) (Answer, error) {
	origin := strings.TrimSuffix(audience, "/")
	if !isOrigin(origin) {
		return Answer{}, errorf(CodeInvalidArgument, "The audience is not an origin, such as https://shop.example.")
	}
	if err := refuseForeignText(challenge); err != nil {
		return Answer{}, err
	}
	named, _, ok := a.registry.Naming.parseChallenge(challenge)
	if !ok {
		return Answer{}, errorf(CodeNotAChallenge, "This is not a challenge of the form %s<audience>:<nonce>, so it names no audience.", a.registry.Naming.challengePrefix())
	}
	if named != origin {
		return Answer{}, errorf(CodeWrongAudience, "This challenge is for %s, but this agent is connected to %s. It may be relayed by an attacker.", named, origin)
	}
	return a.answerTo(challenge)
}

// AnswerUnbound signs a challenge without an audience (contract 4.3). The site may be relaying that of another one.
//
// It signs no text with control characters such as line ends, and none that could be the signed bytes of another protocol: claims,
// JWS, signature bases, operations of the service, SSH signatures, DSSE envelopes.
func (a *Agent) AnswerUnbound(challenge string) (Answer, error) {
	if err := refuseForeignText(challenge); err != nil {
		return Answer{}, err
	}
	if boundChallenge.MatchString(challenge) {
		return Answer{}, errorf(CodeWrongAudience, "This challenge names an audience. Use Answer, which checks it.")
	}
	return a.answerTo(challenge)
}

func (a *Agent) answerTo(challenge string) (Answer, error) {
	if challenge == "" || len(challenge) > maxChallengeBytes || !utf8.ValidString(challenge) {
		return Answer{}, errorf(CodeNotAChallenge, "A challenge is 1 to %d bytes of UTF-8.", maxChallengeBytes)
	}
	return Answer{a.DID(), a.key.PublicKey(), challenge, encodeBase64(a.key.sign([]byte(challenge)))}, nil
}

func refuseForeignText(challenge string) error {
	if code := foreignTextCode(challenge); code != "" {
		return errorf(code, "This is not a challenge: it could be the signed bytes of another purpose.")
	}
	return nil
}

// keySetURL is the address of the published key of the agent.
func (a *Agent) keySetURL(did string) string {
	return a.registry.Service + "/agent/" + url.PathEscape(strings.TrimPrefix(did, a.registry.Naming.didPrefix())) + "/jwks.json"
}
