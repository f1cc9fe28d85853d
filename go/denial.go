package countersign

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// A Denial is the response to a refused request.
type Denial struct {
	Status  int
	Headers []HeaderField
	Body    []byte
}

var (
	htmlType = regexp.MustCompile(`(?i)\btext/html\b`)
	jsonType = regexp.MustCompile(`(?i)\bapplication/json\b`)
	plainID  = regexp.MustCompile(`^[\x21-\x7e]+$`)

	titles = map[int]string{
		400: "Bad request",
		401: "Agent authentication required",
		402: "Payment required",
		403: "Access denied",
		404: "Not found",
		429: "Too many requests",
		503: "Agent verification is not available",
	}
)

// Denial returns the response to a refused request; nil if the request is admitted.
func (g *Gate) Denial(decision *Decision, request *RawRequest) *Denial {
	refusal := decision.Refusal
	if decision.Admitted || refusal == nil {
		return nil
	}
	isHidden := refusal.Status == 404
	message := decision.Reasons[0].Message
	if isHidden {
		message = "There is nothing at this address."
	}
	if refusal.Message != nil {
		message = *refusal.Message
	}
	requestID := newRequestID()
	fields := fieldsOf(request.Headers)
	accept, _ := fields.value("accept")
	denial := &Denial{Status: refusal.Status}
	add := func(name, value string) {
		denial.Headers = append(denial.Headers, HeaderField{name, value})
	}
	isPage := prefersHTML(accept)
	if isPage {
		add("content-type", "text/html; charset=utf-8")
		denial.Body = []byte(htmlPage(titles[refusal.Status], message, requestID))
	} else {
		add("content-type", "application/json")
		denial.Body = errorBody(refusal.Code, message, requestID, decision.Reasons, isHidden)
	}
	add("cache-control", "no-store")
	add("vary", g.Vary()+", Accept")
	add("x-content-type-options", "nosniff")
	if isPage {
		add("content-security-policy", "default-src 'none'")
	}
	if refusal.Status == 401 {
		add("www-authenticate", g.naming.IDHeader)
	}
	code := decision.Reasons[0].Code
	lacksProof := refusal.Status == 401 || code == "proof-required" || code == "replay-unchecked"
	if len(g.options.Audiences) > 0 && lacksProof && !isHidden {
		add("accept-signature", g.acceptSignature(request, fields))
	}
	if refusal.RetryAfterSeconds > 0 {
		add("retry-after", strconv.Itoa(refusal.RetryAfterSeconds))
	}
	return denial
}

// Vary returns the value of Vary for every response behind the gateway.
func (g *Gate) Vary() string {
	if len(g.options.Audiences) == 0 {
		return g.naming.IDHeader
	}
	return g.naming.IDHeader + ", Signature"
}

func (g *Gate) acceptSignature(request *RawRequest, fields headerFields) string {
	parts := signedParts{method: request.Method, fields: fields, hasContent: request.hasContent(fields)}
	if strings.Contains(request.Target, "?") {
		parts.query = "?"
	}
	components := strictComponents(parts, component{"signature-agent", "sig1", true}, g.naming.IDHeader)
	identifiers := make([]string, len(components))
	for i, each := range components {
		identifiers[i] = each.identifier()
	}
	nonce := ""
	// Requests that change no state are admitted without.
	if challenger, ok := g.nonces.(NonceChallenger); ok && !isSafeMethod(request.Method) {
		if challenge := challenger.Challenge(); challenge != "" {
			nonce = ";nonce=" + quoted(challenge)
		}
	}
	return fmt.Sprintf("sig1=(%s);created;expires%s;tag=%s", strings.Join(identifiers, " "), nonce, quoted(webBotAuthTag))
}

// ForwardedHeaders returns the headers for the site behind the gateway. In shadow mode the decision starts with shadow-.
func (g *Gate) ForwardedHeaders(decision *Decision) []HeaderField {
	var headers []HeaderField
	add := func(name, value string) {
		if value != "" {
			headers = append(headers, HeaderField{g.naming.forwardedHeader(name), value})
		}
	}
	action := string(decision.Action)
	if decision.Mode == "shadow" {
		action = "shadow-" + action
	}
	add("Decision", action)
	add("Verified", strconv.FormatBool(decision.Verified))
	add("Proof", decision.Proof)
	if decision.Status != "" {
		add("DID", decision.DID)
		add("Status", decision.Status)
		add("Identity-Level", printable(decision.IdentityLevel))
		add("Issuer", decision.Issuer)
	}
	if decision.Signature != nil && decision.Proof == "signature" {
		add("Content-Digest", decision.Signature.ContentDigest)
	}
	if decision.Delegation != nil {
		add("Delegate", decision.Delegation.KeyID)
	}
	return headers
}

// IsIdentityHeader reports whether a header is one of those that only a gateway may set. Servers map X_ServiceID_DID and
// X-ServiceID-DID to the same variable.
func (g *Gate) IsIdentityHeader(name string) bool {
	prefix := strings.ToLower(g.naming.forwardedHeader(""))
	return len(name) >= len(prefix) && strings.Map(toHyphen, strings.ToLower(name[:len(prefix)])) == prefix
}

func toHyphen(letter rune) rune {
	if (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') {
		return letter
	}
	return '-'
}

// printable encodes ids of identity providers, which operators choose, for a header.
func printable(text string) string {
	if plainID.MatchString(text) {
		return text
	}
	var out strings.Builder
	for _, each := range []byte(text) {
		if (each >= '0' && each <= '9') || (each|0x20 >= 'a' && each|0x20 <= 'z') || strings.IndexByte("-_.!~*'()", each) >= 0 {
			out.WriteByte(each)
		} else {
			fmt.Fprintf(&out, "%%%02X", each)
		}
	}
	return out.String()
}

func newRequestID() string {
	id := make([]byte, 16)
	if _, err := rand.Read(id); err != nil {
		panic("no random numbers: " + err.Error())
	}
	return "req_" + hex.EncodeToString(id)
}

// errorBody is the JSON of a refusal (contract section 7).
func errorBody(code, message, requestID string, reasons []Reason, isHidden bool) []byte {
	var out strings.Builder
	member := func(before, name, value string) {
		out.WriteString(before + `"` + name + `":`)
		writeCanonicalText(&out, value)
	}
	member(`{"error":{`, "code", code)
	member(",", "message", message)
	member(",", "requestId", requestID)
	if !isHidden {
		for i, each := range reasons {
			if i == 0 {
				out.WriteString(`,"reasons":[`)
			} else {
				out.WriteByte(',')
			}
			writeCanonicalText(&out, each.Code)
		}
		out.WriteByte(']')
	}
	out.WriteString("}}")
	return []byte(out.String())
}

// prefersHTML reports whether HTML is listed, and before JSON: the same rule as in the service.
func prefersHTML(accept string) bool {
	page, data := htmlType.FindStringIndex(accept), jsonType.FindStringIndex(accept)
	return page != nil && (data == nil || page[0] < data[0])
}

func htmlPage(title, message, requestID string) string {
	escaped := strings.NewReplacer("&", "&#38;", "<", "&#60;", ">", "&#62;", `"`, "&#34;", "'", "&#39;").Replace(message)
	return fmt.Sprintf(`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>%s</title>
<h1>%s</h1>
<p>%s</p>
<p><small>%s</small></p>
</html>
`, title, title, escaped, requestID)
}
