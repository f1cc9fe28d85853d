package countersign

import (
	"fmt"
	"math"
)

// From rules and data to a ruling, which is pure: the same as in the package for TypeScript (decision/decide.ts).

var refusalCodes = map[int]string{
	400: "VALIDATION_ERROR",
	401: "UNAUTHENTICATED",
	402: "FORBIDDEN",
	403: "FORBIDDEN",
	404: "NOT_FOUND",
	429: "RATE_LIMITED",
	503: "UNAVAILABLE",
}

// Status and reason of what is wrong with a chain of delegations.
var chainRefusals = map[callerKind]struct {
	status int
	reason Reason
}{
	callerCertificateInvalid: {401, Reason{"certificate-invalid",
		"The certificate in the request is not one of a trusted issuer for the key that signed the request."}},
	callerCertificateReplaced: {401, Reason{"certificate-replaced",
		"The certificate in the request was replaced or revoked. Get a new one from its issuer."}},
	callerDelegationRefused: {403, Reason{"delegation-refused",
		"This site does not accept this delegated key. Let the agent itself sign the request."}},
	callerDelegationLimit: {403, Reason{"delegation-limit", "The request is outside the limits of the delegation."}},
	callerDelegationUnproven: {401, Reason{"delegation-unproven",
		"The request has a chain of delegations, which counts only with a verified signature."}},
}

// decide evaluates the rules. The order: identification, deny list, delegation, reachability of the service, existence of the agent, status, proof
// of possession, age of the key, allow list, grade, level.
//
// header is the name of the identification header, for messages. result is nil if the request names no agent.
func decide(rules *policyRules, header string, who caller, result *lookupResult) ruling {
	switch who.kind {
	case callerNone:
		return rules.byLevel("none", 401, Reason{
			"no-identification", fmt.Sprintf("The request has no %s header, so it identifies no agent.", header),
		})
	case callerSignatureInvalid:
		reason := Reason{"signature-invalid", "The signature of the request is not valid."}
		if who.status == 400 {
			return deny(refusalOf(400, 0), reason)
		}
		return deny(rules.customRefusal(who.status), reason)
	case callerUnreadable:
		return rules.byLevel("unknown", 401, Reason{
			"identification-unreadable", fmt.Sprintf("The %s header must be one DID, or its last 24 characters.", header),
		})
	}
	if refused, ok := chainRefusals[who.kind]; ok {
		return deny(rules.customRefusal(refused.status), refused.reason)
	}
	proof := proofReason(who, header)
	if contains(rules.deny, who.did) {
		return deny(rules.customRefusal(403), Reason{"deny-list", "This agent is on the deny list."}, proof)
	}
	if who.delegation != nil && (rules.delegation == nil || !rules.delegation.accepts(who.delegation.Hops)) {
		return deny(rules.customRefusal(403), chainRefusals[callerDelegationRefused].reason, proof)
	}
	if result != nil && result.answered {
		return rules.decideForAgent(who, result.agent, proof)
	}
	if rules.unreachable == "stale" && result != nil && result.hasAge && result.ageSeconds <= rules.maxStaleSeconds {
		seconds := int(math.Floor(result.ageSeconds + 0.5))
		stale := Reason{"answer-stale", fmt.Sprintf(
			"The identity service is not reachable at the moment. The decision uses its response from %d seconds ago.", seconds)}
		found := rules.decideForAgent(who, result.agent, stale, proof)
		found.staleSeconds, found.isStale = seconds, true
		return found
	}
	return rules.unreachableRuling(Reason{
		"service-unreachable", "The identity service is not reachable at the moment. Try again later.",
	}, proof)
}

// failureRuling is the ruling if the gateway itself fails: that for an unreachable service without a cached response. No rule rescues a
// chain of delegations.
func failureRuling(rules *policyRules, withChain bool) ruling {
	reason := Reason{"gateway-failed", "The gateway failed to decide. Try again later."}
	if withChain {
		return deny(refusalOf(503, 5), reason)
	}
	return rules.unreachableRuling(reason)
}

// strictest returns the strictest of several rulings, the first one among equals.
func strictest(rulings []ruling) ruling {
	found := rulings[0]
	for _, each := range rulings[1:] {
		if strictness[each.action] > strictness[found.action] {
			found = each
		}
	}
	return found
}

func (r *policyRules) decideForAgent(who caller, agent *agentData, more ...Reason) ruling {
	if agent == nil {
		return r.byLevel("unknown", 403, append([]Reason{{"agent-unknown", "The service has no such agent."}}, more...)...)
	}
	found := r.decideForKnown(who, agent, more)
	found.agent = agent
	return found
}

func (r *policyRules) decideForKnown(who caller, agent *agentData, more []Reason) ruling {
	refuse := func(status int, code, message string) ruling {
		return deny(r.customRefusal(status), append([]Reason{{code, message}}, more...)...)
	}
	if !contains(r.statuses, agent.status) {
		return refuse(403, "status-refused", fmt.Sprintf("The certificate of this agent is %s.", agent.status))
	}
	if r.requireProof && !who.isProven {
		return refuse(401, "proof-required",
			"The request names an agent without proof. Sign the request with the agent’s key, or send a session of this site.")
	}
	keyAge := math.Max(0, math.Trunc(agent.keyAgeSeconds))
	if keyAge < r.minimumKeyAgeSeconds {
		return refuse(403, "key-too-young", fmt.Sprintf("The key of this agent is %s seconds old. This site requires %s.",
			numberText(keyAge), numberText(r.minimumKeyAgeSeconds)))
	}
	ownerAge := math.Max(0, math.Trunc(agent.ownerAgeSeconds))
	if ownerAge < r.minimumOwnerAgeSeconds {
		return refuse(403, "owner-too-new", fmt.Sprintf("This agent was transferred to its owner %s seconds ago. This site requires %s.",
			numberText(ownerAge), numberText(r.minimumOwnerAgeSeconds)))
	}
	if contains(r.allow, agent.did) {
		return ruling{action: ActionAllow, reasons: append([]Reason{{"allow-list", "This agent is on the allow list."}}, more...)}
	}
	if r.minimumGrade != "" && (agent.grade == "" || agent.grade > r.minimumGrade) {
		wanted := fmt.Sprintf("This site requires %s or better.", r.minimumGrade)
		if agent.grade == "" {
			return refuse(403, "grade-unknown", "The grade of this agent is unknown. "+wanted)
		}
		return refuse(403, "grade-too-low", fmt.Sprintf("The grade of this agent is %s. %s", agent.grade, wanted))
	}
	level, why := r.levelOf(agent)
	return r.byLevel(level, 403, append([]Reason{why}, more...)...)
}

func (r *policyRules) levelOf(agent *agentData) (string, Reason) {
	if agent.identityMethod == nil {
		return "unverified", Reason{"owner-unverified", "The certificate is active, and its owner is not verified."}
	}
	method := *agent.identityMethod
	if r.identityMethods == nil || contains(r.identityMethods, method) {
		return "verified", Reason{"owner-verified", fmt.Sprintf("The certificate is active, and its owner was verified by %s.", method)}
	}
	return "unverified", Reason{"provider-not-accepted", fmt.Sprintf("The owner was verified by %s, which this site does not accept.", method)}
}

func (r *policyRules) byLevel(level string, status int, reasons ...Reason) ruling {
	found := ruling{action: Action(r.levels[level]), reasons: reasons, level: level}
	if found.action == ActionDeny {
		found.refusal = r.customRefusal(status)
	}
	return found
}

func (r *policyRules) unreachableRuling(reasons ...Reason) ruling {
	if r.unreachable == "flag" || r.unreachable == "allow" {
		return ruling{action: Action(r.unreachable), reasons: reasons}
	}
	return deny(refusalOf(503, 5), reasons...)
}

func (r *policyRules) customRefusal(status int) *Refusal {
	if r.refusalStatus != 0 {
		status = r.refusalStatus
	}
	return &Refusal{Status: status, Code: refusalCodes[status], Message: r.refusalMessage}
}

// refusalOf is a refusal that the policy does not change.
func refusalOf(status, retryAfterSeconds int) *Refusal {
	return &Refusal{Status: status, Code: refusalCodes[status], RetryAfterSeconds: retryAfterSeconds}
}

func deny(refusal *Refusal, reasons ...Reason) ruling {
	return ruling{action: ActionDeny, reasons: reasons, refusal: refusal}
}

func proofReason(who caller, header string) Reason {
	if who.isProven {
		return Reason{"signature-proven", "The caller signed the request with the agent's key."}
	}
	return Reason{"header-only", fmt.Sprintf(
		"The caller only sent the %s header, which does not prove possession of the agent's key.", header)}
}

// rateLimited turns a decision into a refusal with status 429.
func rateLimited(decision Decision, seconds int) *Decision {
	limited := decision.withReason("over-limit", fmt.Sprintf("Too many requests. Try again in %d seconds.", seconds))
	limited.Action, limited.Admitted = ActionDeny, decision.Mode == "shadow"
	limited.Refusal = refusalOf(429, seconds)
	return &limited
}

// withUnverifiedSignature is the decision on a request whose signature could not be verified, from that without the signature: if it is
// refused because it proves nothing, the refusal says why, and when to try again.
//
// retryAfterSeconds is 0 if the store of nonces does not know.
func withUnverifiedSignature(decision Decision, signature *SignatureResult, retryAfterSeconds int) *Decision {
	decision.Signature = signature
	code := decision.Reasons[0].Code
	if decision.Refusal == nil || (code != "no-identification" && code != "proof-required" && code != "delegation-unproven") {
		return &decision
	}
	seconds := 1
	if signature.Reason == "replay-unchecked" {
		seconds = retryAfterSeconds
		decision = decision.withReason("replay-unchecked",
			"This site cannot tell yet whether the signature was used before. Try again later.")
	} else {
		decision = decision.withReason("signature-unverified", "The signature of the request could not be verified.")
	}
	if signature.Status == 429 || signature.Status == 503 {
		decision.Refusal = refusalOf(signature.Status, seconds)
	}
	return &decision
}
