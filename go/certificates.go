package countersign

import (
	"errors"
	"math"
	"regexp"
	"time"
)

// Verifying certificates, staples and status lists without a request to the service.

const (
	typCertificate = "dc+sd-jwt"
	typStaple      = "svc-status+jwt"
	typStatusList  = "statuslist+jwt"

	whatCertificate = "certificate"
	whatStaple      = "staple"
	whatStatusList  = "status list"

	maxKeySequence = 1<<31 - 1
)

var (
	anyDIDPattern    = regexp.MustCompile(`^[a-z][a-z0-9]{0,15}:agent:[1-9A-HJ-NP-Za-km-z]{24}$`)
	timestampPattern = regexp.MustCompile(`^([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.[0-9]+)?Z$`)
	listNumber       = regexp.MustCompile(`^[0-9]{1,10}$`)
)

// A FeedPosition is a position in the status feed of an issuer: the epoch, and the number of a change.
type FeedPosition struct {
	Epoch string
	N     int64
}

// A LogEntryRef is the place of a key in a transparency log. Only a proof shows that it is there (VerifyKeyProof).
type LogEntryRef struct {
	// Origin is the name of the log.
	Origin string
	Index  int64
}

// A StatusListRef is an entry of a status list.
type StatusListRef struct {
	URI string
	Idx int64
}

// A Certificate is a verified certificate. It proves nothing about who sent it: verify a signature with PublicKey.
type Certificate struct {
	Issuer string
	DID    string
	// PublicKey has 32 bytes.
	PublicKey []byte
	// KeyThumbprint is the JWK thumbprint (RFC 7638), the keyid of signed requests.
	KeyThumbprint string
	// KeySequence is the number of the key among the keys of the agent, from 1.
	KeySequence int64
	// KeyChangedAt is ISO 8601, UTC.
	KeyChangedAt string
	// OwnerChangedAt is when the agent came to its owner, ISO 8601, UTC; empty if it was never transferred.
	OwnerChangedAt string
	// IdentityMethod is the identity provider that verified the owner; empty if the owner is not verified.
	IdentityMethod string
	// IdentityLevel is verified or unverified.
	IdentityLevel string
	// Assurance is low, substantial, high or empty.
	Assurance string
	// Grade is A to E.
	Grade string
	// PolicyVersion is that of the rules for the grade.
	PolicyVersion int64
	DIDWeb        string
	// Log is the entry of the key in the transparency log; nil if none is named.
	Log *LogEntryRef
	// MaxDelegationDepth is how many hops a chain of delegations of the agent may have; 0: it may not delegate.
	MaxDelegationDepth int
	// IssuedAt: what the service knew until then is in the certificate.
	IssuedAt, ExpiresAt time.Time
	StatusList          StatusListRef
	// StatusAsOf is the time of the list that says that the certificate is valid; zero if you check the status yourself.
	StatusAsOf time.Time
	// KeyID is the kid of the issuer's key.
	KeyID string
}

// A Staple is a verified staple: the status of an agent at a time.
type Staple struct {
	Issuer string
	DID    string
	// KeyThumbprint is the JWK thumbprint of the key that the agent had.
	KeyThumbprint string
	// Status is active, suspended or revoked.
	Status              string
	Grade               string
	IssuedAt, ExpiresAt time.Time
	// Feed is the position that its status is from, or newer; nil if it names none.
	Feed *FeedPosition
	// KeyID is the kid of the issuer's key.
	KeyID string
}

// TokenOptions say against what tokens are verified.
type TokenOptions struct {
	// Issuers that you trust: the key set of each, by its origin, such as https://id.example.
	Issuers map[string]*KeySet
	// StatusLists are status list tokens that you have. VerifyCertificate needs that of the certificate.
	StatusLists []string
	// UncheckedStatus verifies a certificate without its status: a certificate that was revoked then passes.
	UncheckedStatus bool
	// Now is the clock; by default the system's.
	Now func() time.Time
}

func (o TokenOptions) now() time.Time {
	if o.Now == nil {
		return time.Now()
	}
	return o.Now()
}

// VerifyCertificate verifies the certificate of an agent: type, issuer, algorithm, signature, vct, times, and that it was neither
// replaced nor revoked nor suspended. Certificates are public: one proves nothing about who sends it.
//
// token is in compact form, also with a ~ at its end. The error has CodeInvalidToken, CodeCertificateRevoked,
// CodeCertificateSuspended, CodeIssuerUnavailable if the status list is not among StatusLists, or CodeInvalidArgument.
func VerifyCertificate(token string, options TokenOptions) (*Certificate, error) {
	issuer, parsed, err := verifiedToken(token, typCertificate, whatCertificate, options)
	if err != nil {
		return nil, err
	}
	certificate, err := certificateOf(issuer, parsed)
	if err != nil || options.UncheckedStatus {
		return certificate, err
	}
	for _, each := range options.StatusLists {
		listed, err := parseJWS(each, whatStatusList)
		if err != nil || listed.payload.members["sub"] != certificate.StatusList.URI {
			continue
		}
		list, err := verifyStatusList(listed, issuer, certificate.StatusList.URI, options.Issuers[issuer], options.now())
		if err != nil {
			return nil, err
		}
		return certificate.withStatus(list)
	}
	return nil, errorf(CodeIssuerUnavailable, "The status list %s is not among StatusLists.", certificate.StatusList.URI)
}

func (c *Certificate) withStatus(list *StatusList) (*Certificate, error) {
	switch list.Status(c.StatusList.Idx) {
	case StatusValid:
		c.StatusAsOf = list.IssuedAt
		return c, nil
	case StatusSuspended:
		return nil, errorf(CodeCertificateSuspended, "The agent of this certificate is suspended.")
	}
	return nil, errorf(CodeCertificateRevoked, "The certificate was replaced or revoked.")
}

// VerifyStaple verifies a staple: the status of an agent, signed by its service, valid for 15 minutes. Decide by Status. The error has
// CodeInvalidToken or CodeInvalidArgument.
func VerifyStaple(token string, options TokenOptions) (*Staple, error) {
	issuer, parsed, err := verifiedToken(token, typStaple, whatStaple, options)
	if err != nil {
		return nil, err
	}
	claims := parsed.payload
	did, _ := claims.text("sub")
	thumbprint, _ := claims.object("cnf").text("jkt")
	status, _ := claims.text("agentStatus")
	grade, _ := claims.text("grade")
	issued, isIssued := claims.integer("iat", 0, math.MaxFloat64)
	expires, isExpires := claims.integer("exp", 0, math.MaxFloat64)
	feed, isFeed := feedIn(claims)
	if !anyDIDPattern.MatchString(did) || !key32Pattern.MatchString(thumbprint) || !isStatus(status) || !isGrade(grade) ||
		!isIssued || !isExpires || !isFeed {
		return nil, invalidToken(whatStaple, "has other claims than it should have.")
	}
	return &Staple{issuer, did, thumbprint, status, grade, time.Unix(issued, 0), time.Unix(expires, 0), feed, parsed.kid}, nil
}

// VerifyStatusList verifies a status list of an issuer that you trust (draft-ietf-oauth-status-list). uri is its address, as a verified
// certificate names it. The error has CodeInvalidToken or CodeInvalidArgument.
func VerifyStatusList(token, issuer, uri string, options TokenOptions) (*StatusList, error) {
	if err := checkIssuers(options.Issuers); err != nil {
		return nil, err
	}
	keys, ok := options.Issuers[issuer]
	if !ok || !isListOf(issuer, uri) {
		return nil, errorf(CodeInvalidArgument, "%s is not the address of a status list of an issuer that you trust.", uri)
	}
	parsed, err := parseJWS(token, whatStatusList)
	if err != nil {
		return nil, err
	}
	return verifyStatusList(parsed, issuer, uri, keys, options.now())
}

func checkIssuers(issuers map[string]*KeySet) error {
	for issuer, keys := range issuers {
		if !isSecureOrigin(issuer) || keys == nil {
			return errorf(CodeInvalidArgument, "Issuers maps the https origin of a service, such as https://id.example, to its key set: %q.", issuer)
		}
	}
	return nil
}

func verifiedToken(token, typ, what string, options TokenOptions) (issuer string, parsed *jws, err error) {
	if err := checkIssuers(options.Issuers); err != nil {
		return "", nil, err
	}
	if parsed, err = parseJWS(token, what); err != nil {
		return "", nil, err
	}
	issuer, _ = parsed.payload.text("iss")
	keys, ok := options.Issuers[issuer]
	if !ok {
		return "", nil, invalidToken(what, "is not of an issuer that you trust.")
	}
	return issuer, parsed, parsed.assertSigned(typ, what, keys, options.now())
}

func certificateOf(issuer string, parsed *jws) (*Certificate, error) {
	claims := parsed.payload
	found := &Certificate{Issuer: issuer, KeyID: parsed.kid}
	otherClaims := invalidToken(whatCertificate, "has other claims than it should have.")
	for name, into := range map[string]*string{
		"sub": &found.DID, "did_web": &found.DIDWeb, "identityLevel": &found.IdentityLevel,
		"grade": &found.Grade, "keyChangedAt": &found.KeyChangedAt,
	} {
		text, ok := claims.text(name)
		if !ok {
			return nil, otherClaims
		}
		*into = text
	}
	if !anyDIDPattern.MatchString(found.DID) || !isGrade(found.Grade) || !isTimestamp(found.KeyChangedAt) ||
		(found.IdentityLevel != "verified" && found.IdentityLevel != "unverified") ||
		!readNullable(claims, "identityMethod", &found.IdentityMethod) || !readNullable(claims, "assurance", &found.Assurance) {
		return nil, otherClaims
	}
	if claims.has("ownerChangedAt") {
		if found.OwnerChangedAt, _ = claims.text("ownerChangedAt"); !isTimestamp(found.OwnerChangedAt) {
			return nil, otherClaims
		}
	}
	switch claims.members["assurance"] {
	case nil, "low", "substantial", "high":
	default:
		return nil, otherClaims
	}
	if err := found.readNumbers(claims); err != nil {
		return nil, otherClaims
	}
	if _, isText := claims.text("jti"); !isText {
		return nil, otherClaims
	}
	vct, isText := claims.text("vct")
	if !isText {
		return nil, otherClaims
	}
	if vct != issuer+"/credentials/agent-certificate" {
		return nil, invalidToken(whatCertificate, "has another vct.")
	}
	if !isListOf(issuer, found.StatusList.URI) {
		return nil, invalidToken(whatCertificate, "names a status list of another issuer.")
	}
	jwk := claims.object("cnf").object("jwk")
	x, _ := jwk.text("x")
	publicKey, isKey := decodeBase64URL(x)
	if jwk.members["kty"] != "OKP" || jwk.members["crv"] != "Ed25519" || !isKey || len(publicKey) != 32 {
		return nil, otherClaims
	}
	if encodingFault(publicKey) != "" {
		return nil, invalidToken(whatCertificate, "has a key that no agent can have.")
	}
	found.PublicKey, found.KeyThumbprint = publicKey, KeyThumbprint(publicKey)
	return found, nil
}

var errClaim = errors.New("another claim")

func (c *Certificate) readNumbers(claims *jsonObject) error {
	status := claims.object("status").object("status_list")
	issued, isIssued := claims.integer("iat", 0, math.MaxFloat64)
	expires, isExpires := claims.integer("exp", 0, math.MaxFloat64)
	uri, isURI := status.text("uri")
	idx, isIdx := status.integer("idx", 0, math.MaxFloat64)
	version, isVersion := claims.integer("policyVersion", -math.MaxFloat64, math.MaxFloat64)
	sequence, isSequence := claims.integer("keySequence", 1, maxKeySequence)
	if !isIssued || !isExpires || !isURI || !isIdx || !isVersion || !isSequence {
		return errClaim
	}
	if claims.has("log") {
		origin, isOrigin := claims.object("log").text("origin")
		index, isIndex := claims.object("log").integer("index", 0, math.MaxFloat64)
		if !isOrigin || !isIndex {
			return errClaim
		}
		c.Log = &LogEntryRef{origin, index}
	}
	if claims.has("maxDelegationDepth") {
		depth, isDepth := claims.integer("maxDelegationDepth", 1, maxHops)
		if !isDepth {
			return errClaim
		}
		c.MaxDelegationDepth = int(depth)
	}
	c.IssuedAt, c.ExpiresAt = time.Unix(issued, 0), time.Unix(expires, 0)
	c.StatusList = StatusListRef{uri, idx}
	c.PolicyVersion, c.KeySequence = version, sequence
	return nil
}

// readNullable reads a member that is a text or null; false if it is missing or has another type.
func readNullable(object *jsonObject, name string, into *string) bool {
	value, ok := object.members[name]
	text, isText := value.(string)
	*into = text
	return ok && (isText || value == nil)
}

// feedIn returns the claim feed; nil if there is none, false if it is malformed.
func feedIn(claims *jsonObject) (*FeedPosition, bool) {
	if !claims.has("feed") {
		return nil, true
	}
	epoch, isEpoch := claims.object("feed").text("epoch")
	n, isN := claims.object("feed").integer("n", 0, math.MaxFloat64)
	return &FeedPosition{epoch, n}, isEpoch && isN
}

func isStatus(text string) bool {
	return text == "active" || text == "suspended" || text == "revoked"
}

func isTimestamp(text string) bool {
	parts := timestampPattern.FindStringSubmatch(text)
	if parts == nil {
		return false
	}
	at, err := time.Parse("2006-01-02T15:04:05", parts[1])
	return err == nil && at.Year() > 0
}

func isListOf(issuer, uri string) bool {
	number, ok := cutPrefix(uri, issuer+"/status/")
	return ok && listNumber.MatchString(number)
}
