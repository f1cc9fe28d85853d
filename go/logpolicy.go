package countersign

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	maxLogPolicyLength = 65_536
	maxLogPolicyNames  = 64
)

// A LogPolicy says which checkpoints count: those of one of its logs, cosigned by its quorum (C2SP tlog-policy).
type LogPolicy struct {
	logs      []noteKey
	witnesses []policyWitness
	groups    []policyGroup
	// quorum is the name of a witness or group; "" if no cosignature is required.
	quorum string
}

type policyWitness struct {
	name string
	key  noteKey
}

// A policyGroup has witnessed what threshold of its members have witnessed.
type policyGroup struct {
	name      string
	threshold int
	members   []string
}

var thresholdPattern = regexp.MustCompile(`^[1-9][0-9]{0,2}$`)

// ParseLogPolicy reads a policy: lines log <vkey> [<url>], witness <name> <vkey> [<url>], group <name> all|any|<k> <name>… and one
// quorum <name>|none. The error has CodeInvalidArgument.
func ParseLogPolicy(text string) (*LogPolicy, error) {
	if len(text) > maxLogPolicyLength || !utf8.ValidString(text) {
		return nil, errorf(CodeInvalidArgument, "The policy is too long, or not UTF-8.")
	}
	reader := &logPolicyReader{policy: &LogPolicy{}, isFree: map[string]bool{}}
	for i, line := range strings.Split(text, "\n") {
		problem := "a control character"
		if strings.IndexFunc(line, isPolicyControl) < 0 {
			problem = reader.read(line)
		}
		if problem != "" {
			return nil, errorf(CodeInvalidArgument, "Line %d of the policy: %s.", i+1, problem)
		}
	}
	if !reader.hasQuorum {
		return nil, errorf(CodeInvalidArgument, `The policy has no line "quorum".`)
	}
	return reader.policy, nil
}

func isPolicyControl(letter rune) bool {
	return (letter < 0x20 && letter != '\t') || letter == 0x7f
}

type logPolicyReader struct {
	policy *LogPolicy
	// isFree has the names defined so far. Each can be a member once.
	isFree    map[string]bool
	hasQuorum bool
}

// read returns what is wrong with a line; "" if nothing is.
func (r *logPolicyReader) read(line string) string {
	words := strings.FieldsFunc(line, func(letter rune) bool { return letter == ' ' || letter == '\t' })
	if len(words) == 0 || strings.HasPrefix(words[0], "#") {
		return ""
	}
	switch words[0] {
	case "log":
		return r.log(words[1:])
	case "witness":
		return r.witness(words[1:])
	case "group":
		return r.group(words[1:])
	case "quorum":
		return r.setQuorum(words[1:])
	}
	return "it begins with none of log, witness, group and quorum"
}

func (r *logPolicyReader) log(words []string) string {
	if len(words) < 1 || len(words) > 2 {
		return "it needs a key, and may have a URL"
	}
	key, ok := parseVerifierKey(words[0])
	if !ok || key.kind != noteEd25519 {
		return "the key of the log is not a verifier key of Ed25519"
	}
	for _, each := range r.policy.logs {
		if string(each.publicKey) == string(key.publicKey) {
			return "the log is there already"
		}
	}
	r.policy.logs = append(r.policy.logs, key)
	return tooMany(len(r.policy.logs), "logs")
}

func (r *logPolicyReader) witness(words []string) string {
	if len(words) < 2 || len(words) > 3 {
		return "it needs a name and a key, and may have a URL"
	}
	key, ok := parseVerifierKey(words[1])
	if !ok || key.kind != noteCosignature {
		return "the key of the witness is not a verifier key of Ed25519 cosignatures"
	}
	for _, each := range r.policy.witnesses {
		if string(each.key.publicKey) == string(key.publicKey) {
			return "the key of the witness is there already"
		}
	}
	r.policy.witnesses = append(r.policy.witnesses, policyWitness{words[0], key})
	if problem := tooMany(len(r.policy.witnesses), "witnesses"); problem != "" {
		return problem
	}
	return r.define(words[0])
}

func (r *logPolicyReader) group(words []string) string {
	if len(words) < 3 {
		return "the group has no members"
	}
	name, threshold, members := words[0], words[1], words[2:]
	for _, member := range members {
		isFree, isDefined := r.isFree[member]
		if !isDefined {
			return `"` + member + `" is not defined before`
		}
		if !isFree {
			return `"` + member + `" is a member already`
		}
		r.isFree[member] = false
	}
	count, err := strconv.Atoi(threshold)
	switch {
	case threshold == "any":
		count = 1
	case threshold == "all":
		count = len(members)
	case err != nil || !thresholdPattern.MatchString(threshold) || count > len(members):
		return "it needs all, any, or a number from 1 to " + strconv.Itoa(len(members))
	}
	r.policy.groups = append(r.policy.groups, policyGroup{name, count, members})
	if problem := tooMany(len(r.policy.groups), "groups"); problem != "" {
		return problem
	}
	return r.define(name)
}

func (r *logPolicyReader) setQuorum(words []string) string {
	if r.hasQuorum {
		return "there is a quorum already"
	}
	if len(words) != 1 {
		return "it needs one name"
	}
	if _, isDefined := r.isFree[words[0]]; words[0] != "none" && !isDefined {
		return `"` + words[0] + `" is not defined before`
	}
	r.hasQuorum = true
	if words[0] != "none" {
		r.policy.quorum = words[0]
	}
	return ""
}

func (r *logPolicyReader) define(name string) string {
	if name == "none" {
		return `"none" cannot be the name of a witness or group`
	}
	if _, isDefined := r.isFree[name]; isDefined {
		return `"` + name + `" is defined already`
	}
	r.isFree[name] = true
	return ""
}

func tooMany(count int, what string) string {
	if count > maxLogPolicyNames {
		return "there are over " + strconv.Itoa(maxLogPolicyNames) + " " + what
	}
	return ""
}

// isQuorum reports whether witnesses are enough. witnessed has their names in the policy.
func (p *LogPolicy) isQuorum(witnesses []CosignedBy) bool {
	if p.quorum == "" {
		return true
	}
	witnessed := map[string]bool{}
	for _, each := range witnesses {
		witnessed[each.Name] = true
	}
	for _, group := range p.groups {
		count := 0
		for _, member := range group.members {
			if witnessed[member] {
				count++
			}
		}
		if count >= group.threshold {
			witnessed[group.name] = true
		}
	}
	return witnessed[p.quorum]
}
