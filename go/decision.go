package countersign

import "time"

// A Reason says why a decision was made: a code for programs, and a message for people.
type Reason struct{ Code, Message string }

// An Action is what a policy does with a request.
type Action string

// Actions, from the most lenient to the strictest.
const (
	ActionAllow Action = "allow"
	ActionFlag  Action = "flag"
	ActionLimit Action = "limit"
	ActionDeny  Action = "deny"
)

var strictness = map[Action]int{ActionAllow: 0, ActionFlag: 1, ActionLimit: 2, ActionDeny: 3}

// A Refusal says how a request is refused, or would be in shadow mode.
type Refusal struct {
	Status int
	Code   string
	// Message is that of the policy; nil if it sets none.
	Message *string
	// RetryAfterSeconds is 0 if no time is known.
	RetryAfterSeconds int
}

// A Decision is the decision on a request with its reasons. If Proof is "none", the data describes the agent that the caller claims to
// be: everybody can send the identification header.
type Decision struct {
	// Action is not enforced in shadow mode.
	Action Action
	// Admitted says whether the request is passed on.
	Admitted bool
	// Mode is enforce or shadow.
	Mode string
	// Level is that of the policy which decided; empty if none did.
	Level string
	// Reasons: the first one is the deciding one.
	Reasons []Reason
	// Refusal is nil if nothing is refused.
	Refusal *Refusal
	// DID is the agent that the caller claims to be, or is if Proof is "signature".
	DID string
	// Status is active, suspended or revoked; empty if nothing is known of the agent.
	Status string
	// Verified: the certificate is active.
	Verified bool
	// IdentityLevel is the identity provider that verified the owner, or unverified; empty if nothing is known of the agent.
	IdentityLevel string
	// Grade is A to E; empty unless the policy asks for it.
	Grade string
	// Issuer is the service that certifies the agent, by its public origin.
	Issuer string
	// Source of the data: service, cache, or stale if the service is unreachable.
	Source string
	// StatusAgeSeconds is how old the status is at most; negative if it is not known.
	StatusAgeSeconds float64
	// Proof is signature or none.
	Proof string
	// Signature is the result of verifying the signature; nil if there is none.
	Signature *SignatureResult
	// Delegation is the delegate of the agent that signed the request; nil if the agent itself did, or nobody has proved anything.
	Delegation *Delegate
}

// A Delegate is a key that an agent has delegated to. It has no DID of its own.
type Delegate struct {
	// KeyID is the JWK thumbprint of the key.
	KeyID string
	// Depth is how many delegations lead from the agent to it: 1 to 3.
	Depth int
	// ExpiresAt is when its delegation expires.
	ExpiresAt time.Time
}

// Proven reports whether the caller has proved possession of the agent's key.
func (d *Decision) Proven() bool { return d.Proof != "none" }

// An agentData is the part of the service's data on an agent that decisions depend on.
type agentData struct {
	did      string
	status   string
	verified bool
	// identityMethod is nil if the owner is not verified.
	identityMethod *string
	grade          string
	keyAgeSeconds  float64
	// ownerAgeSeconds is since the transfer to its owner; infinite if there was none, 0 unless the policy asks for it.
	ownerAgeSeconds float64
	publicKey       []byte
	keyid           string
	keySequence     int64
}

type callerKind int

const (
	callerNone callerKind = iota
	callerUnreadable
	callerSignatureInvalid
	// Of a chain of delegations.
	callerCertificateInvalid
	callerCertificateReplaced
	callerDelegationRefused
	callerDelegationLimit
	// Its signature could not be verified.
	callerDelegationUnproven
	callerNamed
)

// A caller is whom a request identifies.
type caller struct {
	kind callerKind
	did  string
	// isProven: the signature of the request is valid.
	isProven bool
	// status of a request with an invalid signature.
	status int
	// delegation is the proven chain of a delegate of this agent; nil for the agent itself.
	delegation *Delegation
}

func (c caller) proof() string {
	if c.isProven {
		return "signature"
	}
	return "none"
}

// A lookupResult is the result of looking an agent up.
type lookupResult struct {
	answered bool
	// agent is nil if the service does not know it.
	agent *agentData
	// ageSeconds is that of the last response, if the service is unreachable and one is cached (hasAge).
	ageSeconds float64
	hasAge     bool
}

// A ruling is the result of evaluating the rules, before the rate limit is applied.
type ruling struct {
	action  Action
	reasons []Reason
	level   string
	refusal *Refusal
	agent   *agentData
	// staleSeconds is the age of the response that it is based on, if the service is unreachable (isStale).
	staleSeconds int
	isStale      bool
}

// A basis says where the data of a decision comes from.
type basis struct {
	source string
	issuer string
	// ageSeconds is negative if the status is not known.
	ageSeconds float64
}

// decisionOf completes a ruling.
func decisionOf(mode string, who caller, ruling ruling, from basis) *Decision {
	decision := &Decision{
		Action:           ruling.action,
		Admitted:         mode == "shadow" || ruling.action != ActionDeny,
		Mode:             mode,
		Level:            ruling.level,
		Reasons:          ruling.reasons,
		Refusal:          ruling.refusal,
		Source:           from.source,
		StatusAgeSeconds: from.ageSeconds,
		Proof:            who.proof(),
	}
	if who.kind == callerNamed {
		decision.DID, decision.Issuer = who.did, from.issuer
		if chain := who.delegation; chain != nil {
			decision.Delegation = &Delegate{chain.KeyID, chain.Depth, chain.Hops[chain.Depth-1].ExpiresAt}
		}
	}
	if ruling.isStale {
		decision.Source, decision.StatusAgeSeconds = "stale", float64(ruling.staleSeconds)
	}
	if agent := ruling.agent; agent != nil {
		decision.Status, decision.Verified, decision.Grade = agent.status, agent.verified, agent.grade
		decision.IdentityLevel = "unverified"
		if agent.identityMethod != nil {
			decision.IdentityLevel = *agent.identityMethod
		}
	}
	return decision
}

// withReason puts a deciding reason in front of the others.
func (d Decision) withReason(code, message string) Decision {
	d.Reasons = append([]Reason{{code, message}}, d.Reasons...)
	return d
}
