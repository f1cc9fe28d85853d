package countersign

import (
	"regexp"
	"strings"
)

// The components that a signature covers, and the signature base (RFC 9421 section 2).

// webBotAuthTag is the value of the parameter tag of Web Bot Auth.
const webBotAuthTag = "web-bot-auth"

var (
	derivedComponents = map[string]bool{
		"@method": true, "@authority": true, "@scheme": true, "@target-uri": true,
		"@request-target": true, "@path": true, "@query": true,
	}
	coveredIfPresent = []string{
		"content-type", "content-encoding", "idempotency-key", "authorization", "mcp-method", "mcp-name",
	}
	fieldNamePattern = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9a-z-]+$")
	fieldPattern     = regexp.MustCompile(`^[\t\x20-\x7e]*$`)
)

// A component is a covered component. key is its parameter, which only signature-agent has here.
type component struct {
	name   string
	key    string
	hasKey bool
}

func (c component) identifier() string {
	if !c.hasKey {
		return quoted(c.name)
	}
	return quoted(c.name) + ";key=" + quoted(c.key)
}

func covers(components []component, name string) bool {
	for _, each := range components {
		if each.name == name {
			return true
		}
	}
	return false
}

// signedParts are the parts of a request that a signature base is made of.
type signedParts struct {
	method string
	// origin is scheme and authority, such as https://shop.example.
	origin string
	path   string
	// query has its question mark; "" without one.
	query      string
	fields     headerFields
	hasContent bool
}

// strictComponents returns the components that a signature covers in the profile strict, in their order.
func strictComponents(parts signedParts, agent component, idHeader string) []component {
	var components []component
	add := func(names ...string) {
		for _, each := range names {
			components = append(components, component{name: each})
		}
	}
	add("@method", "@authority", "@path")
	if parts.query != "" {
		add("@query")
	}
	if parts.hasContent || parts.method == "POST" || parts.method == "PUT" || parts.method == "PATCH" {
		add("content-digest")
	}
	for _, each := range coveredIfPresent {
		if parts.fields.has(each) {
			add(each)
		}
	}
	components = append(components, agent)
	for _, each := range agentHeaders(idHeader) {
		if parts.fields.has(each) {
			add(each)
		}
	}
	return components
}

// singletonHeaders are header fields that occur once in a request: repeated, two readers could see different ones.
func singletonHeaders(idHeader string) []string {
	names := []string{
		"content-type", "content-length", "idempotency-key", "authorization", "mcp-method", "mcp-name",
	}
	return append(names, agentHeaders(idHeader)...)
}

func agentHeaders(idHeader string) []string {
	name := strings.ToLower(idHeader)
	return []string{name, name + "-certificate", name + "-status", name + "-approval"}
}

// readComponents reads the components of an inner list in Signature-Input; an error for a repeated or unknown one, or one with
// parameters other than key of signature-agent.
func readComponents(list sfMember) ([]component, error) {
	var components []component
	for _, item := range list.items {
		name, ok := item.value.(string)
		if !ok {
			return nil, errField
		}
		known := fieldNamePattern.MatchString(name)
		if strings.HasPrefix(name, "@") {
			known = derivedComponents[name]
		}
		key, hasKey := item.params.text("key")
		keyed := name == "signature-agent" && len(item.params) == 1 && hasKey
		if !known || (len(item.params) > 0 && !keyed) || covers(components, name) {
			return nil, errField
		}
		components = append(components, component{name, key, keyed})
	}
	return components, nil
}

// signatureBase builds the signature base (RFC 9421 section 2.5). params is the serialized value of @signature-params.
func signatureBase(parts signedParts, components []component, params string) (string, error) {
	var base strings.Builder
	for _, each := range components {
		value, err := componentValue(parts, each)
		if err != nil {
			return "", err
		}
		base.WriteString(each.identifier() + ": " + value + "\n")
	}
	return base.String() + `"@signature-params": ` + params, nil
}

func componentValue(parts signedParts, component component) (string, error) {
	scheme, authority, _ := strings.Cut(parts.origin, "://")
	switch component.name {
	case "@method":
		return parts.method, nil
	case "@authority":
		return authority, nil
	case "@scheme":
		return scheme, nil
	case "@path":
		return parts.path, nil
	case "@query":
		if parts.query == "" {
			return "?", nil
		}
		return parts.query, nil
	case "@request-target":
		return parts.path + parts.query, nil
	case "@target-uri":
		return parts.origin + parts.path + parts.query, nil
	}
	value, err := coveredField(parts.fields, component.name)
	if err != nil || !component.hasKey {
		return value, err
	}
	dictionary, err := parseDictionary(value)
	if err != nil {
		return "", err
	}
	member, ok := dictionary.get(component.key)
	if !ok || member.isList {
		return "", errField
	}
	return member.serialize(), nil
}

// coveredField returns the combined value of a covered field. With a line break in it, a field could add a line to the signature base.
func coveredField(fields headerFields, name string) (string, error) {
	value, ok := fields.value(name)
	if !ok || !fieldPattern.MatchString(value) {
		return "", errField
	}
	return value, nil
}
