package countersign

import "time"

// everyChain is what the verifier accepts. Which chains a site accepts, its rules decide afterwards.
var everyChain = &DelegationPolicy{maxHops, maxDelegationSeconds, true}

func refusedCaller(signature *SignatureResult) caller {
	switch {
	case signature.Reason == "delegation-refused":
		return caller{kind: callerDelegationRefused}
	case signature.Reason == "delegation-limit":
		return caller{kind: callerDelegationLimit}
	case signature.Reason == "delegation-ended":
		return caller{kind: callerCertificateReplaced}
	case signature.Delegation != nil && signature.Delegation.Fault == "root":
		return caller{kind: callerCertificateInvalid}
	}
	return invalidCaller(signature.Status)
}

// findRoot finds the agent's key at the root of a chain, whose certificate counts only with a current status: the service has to be
// reachable.
func (g *Gate) findRoot(root DelegationRoot) (key SigningKey, found *lookupResult, source, reason string) {
	did, ok := g.naming.didOfKeySet(g.issuer, root.SignatureAgent.URL)
	if !ok {
		return key, nil, "", "untrusted-agent"
	}
	maxAge := time.Duration(g.policy.cacheSeconds * float64(time.Second))
	status := g.registry.issuerData.rootStatus(root, did, g.issuer, maxAge, g.now())
	if status != "active" && status != "suspended" {
		return key, nil, "", status
	}
	result, source := g.lookupKey(did, root.KeyID)
	switch {
	case !result.answered:
		// An older response does not rescue a chain, whatever the policy has for an unreachable service.
		return key, nil, "", "directory-unavailable"
	case result.agent == nil:
		return key, nil, "", "unknown-key"
	case result.agent.keyid != root.KeyID || result.agent.keySequence != keySequenceOf(root.Certificate):
		return key, nil, "", "delegation-ended"
	}
	agent := *result.agent
	if status == "suspended" && agent.status == "active" {
		agent.status, agent.verified = status, false
	}
	result.agent = &agent
	// No status: the policy decides on it.
	return SigningKey{PublicKey: agent.publicKey, DID: did}, &result, source, ""
}
