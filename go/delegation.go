package countersign

import "time"

const (
	// The longest chain, in characters: servers and proxies limit headers.
	maxChainLength = 6_144
	// The most hops of a chain.
	maxHops = 3
	// The longest duration of a hop, in seconds.
	maxDelegationSeconds = 86_400
)

// DelegationLimits are what a delegation restricts requests to. Nil: everything.
type DelegationLimits struct {
	// Origins are 1 to 8 canonical https origins, on loopback also http.
	Origins []string
	// Methods are 1 to 8 methods. HEAD is not GET.
	Methods []string
	// Paths are 1 to 8 paths of at most 128 characters: /exact or /prefix/*.
	Paths []string
	// MCP has 1 to 16 values "<method>" or "<method> <name>" of the headers Mcp-Method and Mcp-Name.
	MCP []string
}

// A DelegationHop is one delegation: from the key before it to the next key.
type DelegationHop struct {
	// KeyID is the JWK thumbprint of the next key.
	KeyID               string
	IssuedAt, ExpiresAt time.Time
	// MaxDepth is how many hops may follow: 0 to 3.
	MaxDepth int
	Limits   DelegationLimits
}

// A Delegation is a chain of delegations, as far as it was read. It is proven only with Verified.
type Delegation struct {
	// Depth is the number of Hops.
	Depth int
	// KeyID is the JWK thumbprint of the last key, the delegate's; empty if the chain could not be read.
	KeyID string
	// Fault is, with the reason delegation-invalid, the check that fails: format, key, depth, times, widened, binding, root or signature.
	Fault string
	// Hops go from the agent to the delegate.
	Hops []DelegationHop
}

// A DelegationPolicy says which chains of delegations are accepted.
type DelegationPolicy struct {
	// MaxDepth is the most hops: 1 to 3.
	MaxDepth int
	// MaxSeconds is the longest duration of the first hop: 1 to 86,400.
	MaxSeconds int
	// MCP accepts limits on Mcp-Method and Mcp-Name. Set it only if the server compares these headers with the body (MCP 2026-07-28,
	// SEP-2243).
	MCP bool
}

// validate returns an error with CodeInvalidArgument if a value is out of its range.
func (p DelegationPolicy) validate() error {
	if p.MaxDepth >= 1 && p.MaxDepth <= maxHops && p.MaxSeconds >= 1 && p.MaxSeconds <= maxDelegationSeconds {
		return nil
	}
	return errorf(CodeInvalidArgument, "A delegation policy has MaxDepth (1 to %d) and MaxSeconds (1 to %d).", maxHops, maxDelegationSeconds)
}

// accepts reports whether a policy accepts chains of this depth, duration and kind.
func (p DelegationPolicy) accepts(hops []DelegationHop) bool {
	if len(hops) == 0 || len(hops) > p.MaxDepth || hops[0].seconds() > int64(p.MaxSeconds) {
		return false
	}
	for _, each := range hops {
		if each.Limits.MCP != nil && !p.MCP {
			return false
		}
	}
	return true
}

func (h DelegationHop) seconds() int64 { return h.ExpiresAt.Unix() - h.IssuedAt.Unix() }

// A DelegationRoot is the certificate at the root of a chain, which nobody has verified yet.
type DelegationRoot struct {
	// SignatureAgent is what the request names as the place of the agent's keys.
	SignatureAgent SignatureAgent
	// Certificate is in compact form, without ~.
	Certificate string
	// DID is that which it names.
	DID string
	// KeyID is the JWK thumbprint of the agent's key in it.
	KeyID string
}

// A RootLookup verifies the certificate at the root of a chain and its status. It returns the key in the certificate with DID and status
// of the agent, or why not: reasons of a KeyLookup, delegation-invalid if the certificate is not one of this agent, or delegation-ended if
// it was replaced or revoked, or the agent has another key.
type RootLookup func(DelegationRoot) (key SigningKey, reason string)

// delegationOf is a chain as results show it.
func delegationOf(hops []DelegationHop, fault string) *Delegation {
	delegation := &Delegation{Depth: len(hops), Fault: fault, Hops: hops}
	if len(hops) > 0 && fault != "format" {
		delegation.KeyID = hops[len(hops)-1].KeyID
	}
	return delegation
}
