package countersign

import (
	"encoding/json"
	"errors"
	"testing"
	"time"
)

type tokenCase struct {
	Name, Why, Token, DID, KeyThumbprint, Status string
	Entries                                      map[string]StatusValue
}

type tokenCases struct{ Valid, Invalid []tokenCase }

type tokenVectors struct {
	Issuer                string
	Now                   int64
	KeySet                json.RawMessage
	StatusList            string
	Certificates, Staples tokenCases
	StatusLists           struct {
		tokenCases
		URI string
	}
}

func readTokenVectors(t *testing.T) (tokenVectors, TokenOptions) {
	t.Helper()
	var file tokenVectors
	readVectors(t, "certificates", &file)
	keys, err := ParseKeySet(file.KeySet)
	if err != nil {
		t.Fatal(err)
	}
	return file, TokenOptions{
		Issuers:     map[string]*KeySet{file.Issuer: keys},
		StatusLists: []string{file.StatusList},
		Now:         func() time.Time { return time.UnixMilli(file.Now) },
	}
}

func TestCertificateVectors(t *testing.T) {
	file, options := readTokenVectors(t)
	for _, each := range file.Certificates.Valid {
		found, err := VerifyCertificate(each.Token, options)
		if err != nil || found.DID != each.DID || found.KeyThumbprint != each.KeyThumbprint {
			t.Errorf("%s: %+v %v", each.Name, found, err)
		}
	}
	codes := map[string]string{"suspended": CodeCertificateSuspended, "revoked": CodeCertificateRevoked}
	for _, each := range file.Certificates.Invalid {
		_, err := VerifyCertificate(each.Token, options)
		code := codes[each.Why]
		if code == "" {
			code = CodeInvalidToken
		}
		if each.Why == "status" {
			if err == nil {
				t.Errorf("%s: verified", each.Name)
			}
		} else if !errors.Is(err, &Error{Code: code}) {
			t.Errorf("%s (%s): %v", each.Name, each.Why, err)
		}
	}
}

func TestStapleVectors(t *testing.T) {
	file, options := readTokenVectors(t)
	for _, each := range file.Staples.Valid {
		found, err := VerifyStaple(each.Token, options)
		if err != nil || found.DID != each.DID || found.Status != each.Status {
			t.Errorf("%s: %+v %v", each.Name, found, err)
		}
	}
	for _, each := range file.Staples.Invalid {
		if _, err := VerifyStaple(each.Token, options); !errors.Is(err, &Error{Code: CodeInvalidToken}) {
			t.Errorf("%s: %v", each.Name, err)
		}
	}
}

func TestStatusListVectors(t *testing.T) {
	file, options := readTokenVectors(t)
	for _, each := range file.StatusLists.Valid {
		list, err := VerifyStatusList(each.Token, file.Issuer, file.StatusLists.URI, options)
		if err != nil {
			t.Fatalf("%s: %v", each.Name, err)
		}
		for name, value := range each.Entries {
			var idx int64
			if err := json.Unmarshal([]byte(name), &idx); err != nil {
				t.Fatal(err)
			}
			// What the draft does not assign is invalid.
			if value == 3 {
				value = StatusInvalid
			}
			if list.Status(idx) != value {
				t.Errorf("%s: entry %s is %d", each.Name, name, list.Status(idx))
			}
		}
		if list.Status(-1) != StatusInvalid || list.Status(131_072) != StatusInvalid {
			t.Error("an entry that the list does not have is invalid")
		}
	}
	for _, each := range file.StatusLists.Invalid {
		if _, err := VerifyStatusList(each.Token, file.Issuer, file.StatusLists.URI, options); !errors.Is(err, &Error{Code: CodeInvalidToken}) {
			t.Errorf("%s: %v", each.Name, err)
		}
	}
}

func TestACertificateNeedsItsStatusList(t *testing.T) {
	file, options := readTokenVectors(t)
	token := file.Certificates.Valid[0].Token
	options.StatusLists = nil
	if _, err := VerifyCertificate(token, options); !errors.Is(err, &Error{Code: CodeIssuerUnavailable}) {
		t.Error(err)
	}
	options.UncheckedStatus = true
	if found, err := VerifyCertificate(token, options); err != nil || !found.StatusAsOf.IsZero() {
		t.Error(found, err)
	}
	options.Issuers = map[string]*KeySet{"http://id.example": options.Issuers[file.Issuer]}
	if _, err := VerifyCertificate(token, options); !errors.Is(err, &Error{Code: CodeInvalidArgument}) {
		t.Error(err)
	}
}
