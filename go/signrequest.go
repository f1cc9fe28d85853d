package countersign

import (
	"fmt"
	"strings"
)

// A RequestToSign is a request as it will be sent.
type RequestToSign struct {
	Method string
	// URL in the form that URL parsers write, such as https://shop.example/orders?page=1.
	URL string
	// Headers are the other headers of the request.
	Headers []HeaderField
	// Body has the bytes on the wire; nil without content.
	Body []byte
	// Nonce of a response that asks for it (ChallengeNonce); by default a random one.
	Nonce string
}

// SignRequest signs a request to one of the agent's audiences (RFC 9421, Web Bot Auth): method, address, body and the headers that
// matter. It returns the headers to set. Send the request unchanged, within 60 seconds, once.
//
// The error has CodeWrongAudience, CodeNoDID, or CodeInvalidArgument if the request cannot be signed. For net/http, use Transport.
func (a *Agent) SignRequest(request RequestToSign) ([]HeaderField, error) {
	address, query := request.URL, ""
	if mark := strings.IndexByte(address, '#'); mark >= 0 {
		address = address[:mark]
	}
	if mark := strings.IndexByte(address, '?'); mark >= 0 {
		address, query = address[:mark], address[mark:]
	}
	url, ok := parseURL(address)
	if !ok || url.path == "" || !printableTarget.MatchString(query) {
		return nil, errorf(CodeInvalidArgument, "The URL %q is not in its normalized form, such as https://shop.example/orders?page=1.", request.URL)
	}
	if !a.audiences[url.origin()] {
		return nil, a.wrongAudience(url.origin())
	}
	did := a.DID()
	if did == "" {
		return nil, errorf(CodeNoDID, "The DID of this agent is not known here: claim one, or call WhoAmI once.")
	}
	return a.signed(request, signedParts{method: request.Method, origin: url.origin(), path: url.path, query: query}, did)
}

// signed completes the parts with the fields of the request, and signs them.
func (a *Agent) signed(request RequestToSign, parts signedParts, did string) ([]HeaderField, error) {
	idHeader := a.registry.Naming.IDHeader
	added := []HeaderField{
		{idHeader, did},
		{"Signature-Agent", `sig1="` + a.keySetURL(did) + `"`},
	}
	parts.hasContent = len(request.Body) > 0
	if parts.hasContent || request.Method == "POST" || request.Method == "PUT" || request.Method == "PATCH" {
		added = append(added, HeaderField{"Content-Digest", contentDigest(request.Body)})
	}
	own := map[string]bool{"signature": true, "signature-input": true}
	for _, each := range added {
		own[strings.ToLower(each.Name)] = true
	}
	all := append([]HeaderField{}, added...)
	for _, each := range request.Headers {
		if !own[strings.ToLower(each.Name)] {
			all = append(all, each)
		}
	}
	parts.fields = fieldsOf(all)
	for _, name := range singletonHeaders(idHeader) {
		if len(parts.fields[name]) > 1 {
			return nil, errorf(CodeInvalidArgument, "This request cannot be signed: it has several fields %s.", name)
		}
	}
	components := strictComponents(parts, component{"signature-agent", "sig1", true}, idHeader)
	identifiers := make([]string, len(components))
	for i, each := range components {
		identifiers[i] = each.identifier()
	}
	nonce := request.Nonce
	if nonce == "" {
		nonce = randomText(18)
	}
	if !noncePattern.MatchString(nonce) {
		return nil, errorf(CodeInvalidArgument, "A nonce has 22 to 128 characters of base64url.")
	}
	created := a.now().Unix()
	params := fmt.Sprintf("(%s);created=%d;expires=%d;keyid=%s;nonce=%s;tag=%s", strings.Join(identifiers, " "),
		created, created+signatureLifetimeSeconds, quoted(a.key.Thumbprint()), quoted(nonce), quoted(webBotAuthTag))
	base, err := signatureBase(parts, components, params)
	if err != nil {
		return nil, errorf(CodeInvalidArgument, "This request cannot be signed: a header is not printable ASCII.")
	}
	signature := sfMember{value: a.key.sign([]byte(base))}.serialize()
	return append(added, HeaderField{"Signature-Input", "sig1=" + params}, HeaderField{"Signature", "sig1=" + signature}), nil
}

func (a *Agent) wrongAudience(origin string) error {
	return errorf(CodeWrongAudience,
		"This agent does not sign for %s. If you chose that site yourself, add it to Audiences; to send such requests unsigned, set Unlisted of the Transport to UnlistedPlain.", origin)
}

// ChallengeNonce returns the nonce with which a response asks to sign its request once more, from its status and its field
// Accept-Signature. Nothing else of the field counts.
//
// It is "" if the status is not 401 or 503, or not exactly one member is for Web Bot Auth, or that names no nonce of 22 to 128
// characters of base64url.
func ChallengeNonce(status int, acceptSignature string) string {
	member, ok := askedSignature(status, acceptSignature)
	if !ok {
		return ""
	}
	nonce, _ := member.params.text("nonce")
	if !noncePattern.MatchString(nonce) {
		return ""
	}
	return nonce
}

// askedSignature returns the one member of Accept-Signature that is for Web Bot Auth.
func askedSignature(status int, acceptSignature string) (sfMember, bool) {
	if (status != 401 && status != 503) || len(acceptSignature) > maxFieldLength {
		return sfMember{}, false
	}
	dictionary, err := parseDictionary(acceptSignature)
	if err != nil {
		return sfMember{}, false
	}
	tagged, others := taggedMember(dictionary)
	if tagged == nil || others {
		return sfMember{}, false
	}
	return tagged.member, true
}
