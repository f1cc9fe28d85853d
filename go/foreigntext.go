package countersign

import (
	"encoding/base64"
	"regexp"
	"strings"
	"unicode"
)

// What a challenge must not be: signed bytes of other purposes. A signer that answers any challenge signs for every protocol whose
// signed bytes can be chosen as a challenge (packages/protocol/src/foreign-text.ts).
var (
	claimText        = regexp.MustCompile(`(?i)^[a-z][a-z0-9]{0,15}-verify-[0-9a-f]{32}\|`)
	keyOperationText = regexp.MustCompile(`(?i)^[^\x21-\x7e]*[a-z][a-z0-9]{0,15}-(?:rotate|recover)-`)
	// Everything that agents of any deployment sign has such a first line.
	ownText = regexp.MustCompile(`(?i)^[^\x21-\x7e]*[a-z][a-z0-9]{0,15}(?:-[a-z]{1,16}){1,8}-v[0-9]{1,9}[^\x21-\x7e\n]*(?:\n|$)`)
	// Control characters separate the fields of many protocols.
	controlText = regexp.MustCompile(`[\x00-\x1f\x7f]`)

	// JSON objects in UTF-8, UTF-16 or UTF-32 as Latin-1, and what laxer parsers read as one.
	jsonObjectText = regexp.MustCompile(`^[\x00\t-\r \x{ef}\x{bb}\x{bf}\x{fe}\x{ff}]*\{[\x00\t-\r ]*(?:"|\}[\x00\t-\r ]*$)`)
	laxObjectText  = regexp.MustCompile(`(?s)^[\x00\t-\r \x{ef}\x{bb}\x{bf}\x{fe}\x{ff}]*\{.*:`)
)

// foreignTextCode returns the code with which a challenge is refused; "" if it can be signed.
func foreignTextCode(challenge string) string {
	// RE2 folds letters beyond ASCII too, such as U+017F to s: refusing more is safe.
	if claimText.MatchString(challenge) {
		return CodeLooksLikeAClaim
	}
	if hasTokenHeader(challenge) ||
		strings.Contains(challenge, `"@signature-params":`) ||
		keyOperationText.MatchString(challenge) ||
		ownText.MatchString(challenge) ||
		strings.HasPrefix(challenge, "SSHSIG") ||
		strings.HasPrefix(challenge, "DSSEv1 ") ||
		controlText.MatchString(challenge) {
		return CodeNotAChallenge
	}
	return ""
}

// hasTokenHeader reports whether a text could be a JWS signing input. It decodes as the laxest verifiers do, which skip every
// character that is not of base64. With all header parameters unprotected, the header is empty.
func hasTokenHeader(text string) bool {
	head, _, hasDot := strings.Cut(text, ".")
	if !hasDot || head == "" {
		return hasDot
	}
	head = strings.Map(func(letter rune) rune {
		if unicode.IsSpace(letter) || letter == '\ufeff' || letter == '=' {
			return -1
		}
		return letter
	}, head)
	letters := strings.Map(func(letter rune) rune {
		switch {
		case letter == '+':
			return '-'
		case letter == '/':
			return '_'
		case letter == '-' || letter == '_' || (letter < 0x80 && (unicode.IsLetter(letter) || unicode.IsDigit(letter))):
			return letter
		}
		return -1
	}, head)
	whole := letters
	if len(whole)%4 == 1 {
		whole = whole[:len(whole)-1]
	}
	data, err := base64.RawURLEncoding.DecodeString(whole)
	if err != nil {
		return true
	}
	decoded := latin1(data)
	return jsonObjectText.MatchString(decoded) || (len(letters) == len(head) && laxObjectText.MatchString(decoded))
}

// latin1 makes each byte a character, so that expressions match bytes.
func latin1(data []byte) string {
	letters := make([]rune, len(data))
	for i, each := range data {
		letters[i] = rune(each)
	}
	return string(letters)
}
