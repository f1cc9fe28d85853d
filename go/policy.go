package countersign

import "strings"

// levels of a caller, in the order of the file.
var policyLevels = []string{"none", "unknown", "directory", "unverified", "verified"}

// A PolicyError lists the mistakes in a policy or in the options of a gate, one message each.
type PolicyError struct{ Mistakes []string }

func (e *PolicyError) Error() string {
	return "The gateway cannot start:\n- " + strings.Join(e.Mistakes, "\n- ")
}

// policyRules are what decides on a request: those of the policy, or of one of its routes.
type policyRules struct {
	// levels: allow, limit or deny.
	levels                 map[string]string
	statuses               []string
	minimumGrade           string
	minimumKeyAgeSeconds   float64
	minimumOwnerAgeSeconds float64
	// identityMethods is nil if every one is accepted.
	identityMethods []string
	allow, deny     []string
	// delegation is nil if no delegate is accepted.
	delegation   *DelegationPolicy
	requireProof bool
	// refusalStatus is 0 and refusalMessage nil if the policy does not set them.
	refusalStatus   int
	refusalMessage  *string
	unreachable     string
	maxStaleSeconds float64
}

// A policyRoute has rules for some paths and methods.
type policyRoute struct {
	path string
	// methods is nil if all count.
	methods []string
	rules   *policyRules
}

// A Policy is a validated policy with all defaults filled in. ReadPolicy makes one.
type Policy struct {
	rules         *policyRules
	mode          string
	limitRequests float64
	limitSeconds  float64
	cacheSeconds  float64
	preflight     string
	routes        []policyRoute
}

func suggestedRules() *policyRules {
	return &policyRules{
		levels: map[string]string{
			"none": "deny", "unknown": "deny", "directory": "deny", "unverified": "limit", "verified": "allow",
		},
		statuses:        []string{"active"},
		unreachable:     "deny",
		maxStaleSeconds: 300,
	}
}

// allRules returns the rules of the routes in order, followed by the policy's own.
func (p *Policy) allRules() []*policyRules {
	all := make([]*policyRules, 0, len(p.routes)+1)
	for _, each := range p.routes {
		all = append(all, each.rules)
	}
	return append(all, p.rules)
}

// rulesFor returns the rules that apply to a request: one, or all of them if servers may read the path or the method differently.
// target is path and query, as sent.
func (p *Policy) rulesFor(method, target string) []*policyRules {
	if len(p.routes) == 0 {
		return []*policyRules{p.rules}
	}
	path, _, _ := strings.Cut(target, "?")
	comparable, ok := comparablePath(path)
	if !ok || !isUnambiguousMethod(method) {
		return p.allRules()
	}
	for _, route := range p.routes {
		if route.hasMethod(method) && matchesRoute(route.path, comparable) {
			return []*policyRules{route.rules}
		}
	}
	return []*policyRules{p.rules}
}

func (r policyRoute) hasMethod(method string) bool {
	// Servers answer HEAD with the handler for GET.
	return r.methods == nil || contains(r.methods, method) || (method == "HEAD" && contains(r.methods, "GET"))
}

func contains(texts []string, text string) bool {
	for _, each := range texts {
		if each == text {
			return true
		}
	}
	return false
}
