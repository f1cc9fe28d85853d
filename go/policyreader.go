package countersign

import (
	"fmt"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"unicode/utf16"
)

// Fields of a policy, of which this package refuses some by name.
var (
	ruleFields = []string{
		"levels", "statuses", "minimumGrade", "minimumKeyAgeSeconds", "minimumOwnerAgeSeconds", "requireLogged", "identityMethods",
		"allow", "deny", "delegation", "approval", "requireProof", "refusal", "unreachable", "maxStaleSeconds",
	}
	policyFields = append([]string{
		"mode", "limit", "cacheSeconds", "preflight", "directories", "trust", "offline", "routes",
	}, ruleFields...)
	routeFields = append([]string{"path", "methods"}, ruleFields...)

	providerPattern = regexp.MustCompile(`^[\x21-\x7e]{1,64}$`)
	methodPattern   = regexp.MustCompile(`^[A-Z]+$`)
	// An encoded byte of a letter beyond ASCII.
	escapeBeyondASCII = regexp.MustCompile(`%[89a-fA-F][0-9a-fA-F]`)
	indexPattern      = regexp.MustCompile(`^(?:0|[1-9][0-9]{0,9})$`)
)

const maxRefusalMessageLength = 300

// ReadPolicy validates a policy and fills in the defaults. data is its JSON, the same file as for the gateway in TypeScript
// (packages/gateway/README.md); empty or null: the default policy. Fields that this package does not have are refused by name.
//
// The error is a *PolicyError with all mistakes.
func ReadPolicy(data []byte, naming Naming) (*Policy, error) {
	naming, err := naming.withDefaults()
	if err != nil {
		return nil, err
	}
	var value any = &jsonObject{}
	if len(data) > 0 {
		if value, err = parseJSON(data); err != nil {
			return nil, &PolicyError{[]string{"policy must be JSON"}}
		}
	}
	if value == nil {
		value = &jsonObject{}
	}
	reader := &policyReader{naming: naming}
	policy := reader.policy(value)
	if len(reader.mistakes) > 0 {
		return nil, &PolicyError{reader.mistakes}
	}
	return policy, nil
}

// A policyReader collects the mistakes of a policy, in the order of the package for TypeScript.
type policyReader struct {
	naming   Naming
	mistakes []string
}

func (r *policyReader) mistake(format string, args ...any) {
	r.mistakes = append(r.mistakes, fmt.Sprintf(format, args...))
}

func (r *policyReader) policy(value any) *Policy {
	given := r.record(value, "policy", policyFields)
	policy := &Policy{mode: r.choice(given, "policy", "mode", "enforce", "enforce", "shadow")}
	limit := &jsonObject{}
	if given.has("limit") {
		limit = r.record(given.members["limit"], "policy.limit", []string{"requests", "seconds"})
	}
	policy.limitRequests = r.number(limit, "policy.limit", "requests", 1, 1_000_000, 60)
	policy.limitSeconds = r.number(limit, "policy.limit", "seconds", 1, 86_400, 60)
	policy.cacheSeconds = r.number(given, "policy", "cacheSeconds", 0, 60, 5)
	policy.preflight = r.choice(given, "policy", "preflight", "pass", "pass", "decide")
	r.refuseFields(given)
	policy.rules = r.rules(given, "policy", suggestedRules())
	if !given.has("routes") {
		return policy
	}
	routes, ok := given.members["routes"].([]any)
	if !ok {
		r.mistake("policy.routes must be a list of routes")
	}
	for i, each := range routes {
		policy.routes = append(policy.routes, r.route(each, fmt.Sprintf("policy.routes[%d]", i), policy.rules))
	}
	return policy
}

// refuseFields refuses the fields that this package does not have, unless they are empty: ignoring them would admit or refuse others
// than the policy says.
func (r *policyReader) refuseFields(given *jsonObject) {
	for _, name := range []string{"directories", "trust", "offline"} {
		list, isList := given.members[name].([]any)
		isEmptyList := isList && len(list) == 0 && name != "offline"
		if given.has(name) && !isEmptyList {
			r.mistake("policy.%s is not supported by this package", name)
		}
	}
}

func (r *policyReader) route(value any, place string, defaults *policyRules) policyRoute {
	given := r.record(value, place, routeFields)
	path, _ := given.text("path")
	if !isRoutePath(path) {
		if isRoutePath(escapeBeyondASCII.ReplaceAllString(path, "x")) {
			r.mistake("%s.path with letters beyond ASCII is not supported by this package", place)
		} else {
			r.mistake("%s.path must be `/exact` or `/prefix/*`, as in the URL, without unnecessary percent-encoding", place)
		}
		path = "/"
	}
	route := policyRoute{path: path}
	if given.members["methods"] != nil {
		route.methods = r.list(given.members["methods"], place+".methods", "a list of methods", "a method such as GET", methodPattern.MatchString, 1)
	}
	route.rules = r.rules(given, place, defaults)
	return route
}

func (r *policyReader) rules(given *jsonObject, place string, defaults *policyRules) *policyRules {
	rules := *defaults
	rules.levels = r.levels(given, place, defaults.levels)
	if given.has("statuses") {
		rules.statuses = r.list(given.members["statuses"], place+".statuses", "a list of `active`, `suspended`, `revoked`",
			"`active`, `suspended` or `revoked`", isStatus, 0)
	}
	if given.has("minimumGrade") {
		rules.minimumGrade = ""
		if given.members["minimumGrade"] != nil {
			rules.minimumGrade = r.choice(given, place, "minimumGrade", "A", "A", "B", "C", "D", "E")
		}
	}
	rules.minimumKeyAgeSeconds = r.number(given, place, "minimumKeyAgeSeconds", 0, 2_592_000, defaults.minimumKeyAgeSeconds)
	rules.minimumOwnerAgeSeconds = r.number(given, place, "minimumOwnerAgeSeconds", 0, 2_592_000, defaults.minimumOwnerAgeSeconds)
	if given.members["requireLogged"] != nil {
		r.mistake("%s.requireLogged is not supported by this package", place)
	}
	if given.has("identityMethods") {
		rules.identityMethods = nil
		if given.members["identityMethods"] != nil {
			rules.identityMethods = r.list(given.members["identityMethods"], place+".identityMethods",
				"a list of identity providers", "the id of an identity provider", providerPattern.MatchString, 1)
		}
	}
	rules.allow = r.dids(given, place, "allow", defaults.allow)
	rules.deny = r.dids(given, place, "deny", defaults.deny)
	// Ignoring it would admit requests that nobody has approved.
	if given.members["approval"] != nil {
		r.mistake("%s.approval is not supported by this package", place)
	}
	if given.has("delegation") {
		rules.delegation = r.delegation(given.members["delegation"], place+".delegation")
	}
	rules.requireProof = r.boolean(given, place, "requireProof", defaults.requireProof)
	if given.has("refusal") {
		rules.refusalStatus, rules.refusalMessage = r.refusal(given.members["refusal"], place+".refusal")
	}
	rules.unreachable = r.choice(given, place, "unreachable", defaults.unreachable, "deny", "flag", "allow", "stale")
	rules.maxStaleSeconds = r.number(given, place, "maxStaleSeconds", 0, 86_400, defaults.maxStaleSeconds)
	return &rules
}

func (r *policyReader) levels(given *jsonObject, place string, defaults map[string]string) map[string]string {
	levels := map[string]string{}
	for name, action := range defaults {
		levels[name] = action
	}
	if !given.has("levels") {
		return levels
	}
	record := r.record(given.members["levels"], place+".levels", policyLevels)
	for _, level := range policyLevels {
		if record.has(level) {
			levels[level] = r.choice(record, place+".levels", level, "deny", "allow", "limit", "deny")
		}
	}
	return levels
}

func (r *policyReader) dids(given *jsonObject, place, name string, defaults []string) []string {
	if !given.has(name) {
		return defaults
	}
	isDID := func(text string) bool {
		_, ok := r.naming.tailOf(text)
		return ok
	}
	texts := r.list(given.members[name], place+"."+name, "a list of DIDs", "a DID of the service or its 24 characters", isDID, 0)
	dids := make([]string, len(texts))
	for i, each := range texts {
		tail, _ := r.naming.tailOf(each)
		dids[i] = r.naming.didOf(tail)
	}
	return dids
}

func (r *policyReader) delegation(value any, place string) *DelegationPolicy {
	if value == nil {
		return nil
	}
	given := r.record(value, place, []string{"maxDepth", "maxSeconds", "mcp"})
	return &DelegationPolicy{
		MaxDepth:   r.integer(given, place, "maxDepth", maxHops, 1),
		MaxSeconds: r.integer(given, place, "maxSeconds", maxDelegationSeconds, 3600),
		MCP:        r.boolean(given, place, "mcp", false),
	}
}

func (r *policyReader) refusal(value any, place string) (status int, message *string) {
	if value == nil {
		return 0, nil
	}
	given := r.record(value, place, []string{"status", "message"})
	if given.has("status") {
		switch given.members["status"] {
		case 402.0, 403.0, 404.0:
			status = int(given.members["status"].(float64))
		default:
			r.mistake("%s.status must be `402`, `403` or `404`", place)
		}
	}
	if given.has("message") {
		text, ok := given.text("message")
		if !ok || text == "" || len(utf16.Encode([]rune(text))) > maxRefusalMessageLength {
			r.mistake("%s.message must be a text of at most 300 characters", place)
		} else {
			message = &text
		}
	}
	return status, message
}

// record returns an object, and reports its members that are unknown or repeated.
func (r *policyReader) record(value any, place string, known []string) *jsonObject {
	given, ok := value.(*jsonObject)
	if !ok {
		r.mistake("%s must be an object", place)
		return &jsonObject{}
	}
	for _, name := range inJavaScriptOrder(given.names) {
		if !contains(known, name) {
			r.mistake("%s.%s is unknown", place, name)
		}
	}
	if given.repeated != "" {
		r.mistake("%s.%s is repeated", place, given.repeated)
	}
	return given
}

// inJavaScriptOrder lists names that are array indexes first, as the package for TypeScript reports them.
func inJavaScriptOrder(names []string) []string {
	var indexes, others []string
	for _, each := range names {
		if number, err := strconv.ParseUint(each, 10, 32); err == nil && indexPattern.MatchString(each) && number < 1<<32-1 {
			indexes = append(indexes, each)
		} else {
			others = append(others, each)
		}
	}
	sort.Slice(indexes, func(i, j int) bool {
		return len(indexes[i]) < len(indexes[j]) || (len(indexes[i]) == len(indexes[j]) && indexes[i] < indexes[j])
	})
	return append(indexes, others...)
}

func (r *policyReader) choice(given *jsonObject, place, name, fallback string, values ...string) string {
	if !given.has(name) {
		return fallback
	}
	if text, ok := given.text(name); ok && contains(values, text) {
		return text
	}
	codes := "`" + strings.Join(values[:len(values)-1], "`, `") + "`"
	r.mistake("%s.%s must be %s or `%s`", place, name, codes, values[len(values)-1])
	return fallback
}

func (r *policyReader) boolean(given *jsonObject, place, name string, fallback bool) bool {
	if !given.has(name) {
		return fallback
	}
	value, ok := given.members[name].(bool)
	if !ok {
		r.mistake("%s.%s must be `true` or `false`", place, name)
		return fallback
	}
	return value
}

func (r *policyReader) number(given *jsonObject, place, name string, least, most int, fallback float64) float64 {
	if !given.has(name) {
		return fallback
	}
	value, ok := given.members[name].(float64)
	if !ok || value < float64(least) || value > float64(most) {
		r.mistake("%s.%s must be a number from %d to %d", place, name, least, most)
		return fallback
	}
	return value
}

func (r *policyReader) integer(given *jsonObject, place, name string, most int, fallback int) int {
	if !given.has(name) {
		return fallback
	}
	value, ok := given.integer(name, 1, float64(most))
	if !ok {
		r.mistake("%s.%s must be an integer from 1 to %d", place, name, most)
		return fallback
	}
	return int(value)
}

func (r *policyReader) list(value any, place, accepts, eachAccepts string, isValid func(string) bool, least int) []string {
	given, ok := value.([]any)
	if !ok || len(given) < least {
		r.mistake("%s must be %s", place, accepts)
		return []string{}
	}
	texts := []string{}
	for i, each := range given {
		if text, isText := each.(string); isText && isValid(text) {
			texts = append(texts, text)
		} else {
			r.mistake("%s[%d] must be %s", place, i, eachAccepts)
		}
	}
	return texts
}
