package countersign

import "strings"

// A SignatureAgent is where the keys of a signer are published.
type SignatureAgent struct {
	// Dialect is the form of the field Signature-Agent: ietf, legacy, origin, ucp or cimd.
	Dialect string
	URL     string
}

// KeySetURL is the address of the key set.
func (a SignatureAgent) KeySetURL() string {
	if a.Dialect == "legacy" || a.Dialect == "origin" {
		return strings.TrimRight(a.URL, "/") + "/.well-known/http-message-signatures-directory"
	}
	return a.URL
}

// Dialects by the parameter type (draft-meunier-webbotauth-httpsig-protocol, Key Distribution and Discovery).
var dialects = map[sfToken]string{"directory": "origin", "jwks_uri": "ucp", "cimd": "cimd"}

// parseSignatureAgent reads the field Signature-Agent and detects its dialect. Parameters other than type are ignored.
//
// It returns nil without an error if the member has a type that is not known, or an address that its type does not allow: it must be
// ignored. An error: the field has no address in one of the dialects.
func parseSignatureAgent(field string, covered component) (*SignatureAgent, error) {
	if !covered.hasKey {
		text, err := parseStringItem(field)
		if err != nil {
			return nil, err
		}
		return checkedAgent("legacy", text)
	}
	dictionary, err := parseDictionary(field)
	if err != nil {
		return nil, err
	}
	member, _ := dictionary.get(covered.key)
	url, ok := member.value.(string)
	if !ok {
		return nil, errField
	}
	kind, hasType := member.params.get("type")
	if !hasType {
		if isBareOrigin(url) {
			return checkedAgent("origin", url)
		}
		return checkedAgent("ietf", url)
	}
	token, _ := kind.(sfToken)
	dialect := dialects[token]
	if dialect == "" || (dialect == "origin" && !isBareOrigin(url)) {
		return nil, nil
	}
	return checkedAgent(dialect, url)
}

func checkedAgent(dialect, text string) (*SignatureAgent, error) {
	url, ok := parseURL(text)
	if !ok || (url.scheme != "https" && !isLoopback(url.hostname())) {
		return nil, errField
	}
	if !isBareOrigin(text) && (dialect == "legacy" || dialect == "origin" || url.path == "") {
		return nil, errField
	}
	return &SignatureAgent{dialect, text}, nil
}

func isBareOrigin(text string) bool { return isOrigin(strings.TrimSuffix(text, "/")) }
