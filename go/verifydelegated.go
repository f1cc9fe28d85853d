package countersign

import "bytes"

// verifyDelegated is, instead of the lookup of a key, the steps a to l of a chain (docs/delegation.md).
func (v *RequestVerifier) verifyDelegated(checked checkedRequest, text string, result *SignatureResult) string {
	policy := v.options.Delegation
	if policy == nil {
		result.Delegation = delegationOf(nil, "")
		return "delegation-refused"
	}
	found, isProven := v.options.proven.get(text)
	if !isProven {
		var ok bool
		if found, ok = readChain(text); !ok {
			result.Delegation = delegationOf(found.hops, "format")
			return "delegation-invalid"
		}
	}
	result.Delegation = delegationOf(found.hops, "")
	invalid := func(fault string) string {
		result.Delegation.Fault = fault
		return "delegation-invalid"
	}
	if !v.options.AllowTestKeys && found.hasTestKey() {
		return "test-key"
	}
	now := v.options.Now()
	if fault := found.fault(checked.input.keyid, now); fault != "" {
		return invalid(fault)
	}
	if reason := found.refusal(*policy, now); reason != "" {
		return reason
	}
	root := found.root
	key, reason := v.options.FindRoot(DelegationRoot{checked.input.agent, root.certificate, root.did, root.keyid})
	// Whoever looks it up has compared them. A key that is not the one in the certificate proves nothing of the chain.
	isOther := reason == "" && (key.DID != root.did || !bytes.Equal(key.PublicKey, root.publicKey))
	if isOther || reason == "delegation-invalid" {
		return invalid("root")
	}
	if reason != "" {
		return reason
	}
	if !isProven {
		if !found.isSigned() {
			return invalid("signature")
		}
		v.options.proven.add(text, found)
	}
	key.PublicKey, key.Delegation = found.keys[len(found.keys)-1], result.Delegation
	return v.verifyBy(checked, key, root.keyid, result)
}

func (c *chain) hasTestKey() bool {
	for _, each := range c.hops {
		if publishedTestKeys[each.KeyID] {
			return true
		}
	}
	return publishedTestKeys[c.root.keyid]
}
