package countersign

import "fmt"

// Codes of errors that this module makes itself. All others are those of the service, such as NOT_FOUND
// (docs/contract/errors.md).
const (
	// CodeNetwork: the service did not answer.
	CodeNetwork = "NETWORK"
	// CodeProtocol: the response is not that of a Countersign service.
	CodeProtocol = "PROTOCOL"
	// CodeOutcomeUnknown: a claim was sent, and no response came.
	CodeOutcomeUnknown = "OUTCOME_UNKNOWN"
	// CodeInvalidArgument: an argument has another form than it should have.
	CodeInvalidArgument = "INVALID_ARGUMENT"
	// CodeNoKey: the key file or the environment variable is missing.
	CodeNoKey = "NO_KEY"
	// CodeUnusableKey: the text is no Ed25519 private key, or has a password.
	CodeUnusableKey = "UNUSABLE_KEY"
	// CodeKeyExists: the file has a key already.
	CodeKeyExists = "KEY_EXISTS"
	// CodeNoDID: the agent object does not know its DID.
	CodeNoDID = "NO_DID"
	// CodeLooksLikeAClaim: the challenge is a claim, which a signature would redeem.
	CodeLooksLikeAClaim = "LOOKS_LIKE_A_CLAIM"
	// CodeNotAChallenge: the text could be the signed bytes of another purpose.
	CodeNotAChallenge = "NOT_A_CHALLENGE"
	// CodeWrongAudience: a challenge or a request is for a site that the agent does not sign for.
	CodeWrongAudience = "WRONG_AUDIENCE"
	// CodeInvalidToken: a certificate, staple or status list does not verify.
	CodeInvalidToken = "INVALID_TOKEN"
	// CodeInvalidProof: a proof does not show that the key is in a log that you trust.
	CodeInvalidProof = "INVALID_PROOF"
	// CodeCertificateRevoked: the certificate was replaced or revoked.
	CodeCertificateRevoked = "CERTIFICATE_REVOKED"
	// CodeCertificateSuspended: the agent of the certificate is suspended.
	CodeCertificateSuspended = "CERTIFICATE_SUSPENDED"
	// CodeIssuerUnavailable: the status list of a certificate is not known.
	CodeIssuerUnavailable = "ISSUER_UNAVAILABLE"
)

// An Error has a code that programs compare. The message is for people.
type Error struct {
	// Code is one of the Code constants, or a code of the service.
	Code    string
	Message string
	// Status is the HTTP status of the response; 0 without one.
	Status int
	// RequestID is the id of the request in the log of the service, if there is one.
	RequestID string
	// Cause is what failed below, if anything did.
	Cause error
}

func (e *Error) Error() string { return e.Code + ": " + e.Message }

// Unwrap returns what failed below.
func (e *Error) Unwrap() error { return e.Cause }

// Is reports whether the target is an *Error with the same code, so that errors.Is(err, &Error{Code: "NOT_FOUND"}) works.
func (e *Error) Is(target error) bool {
	other, ok := target.(*Error)
	return ok && other.Code == e.Code
}

func errorf(code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}
