package countersign

import (
	"context"
	"errors"
	"sync"
	"time"
)

const (
	// How long keys are used before the service is asked again: a key that it has removed is dropped after this.
	issuerKeysLifetime = time.Minute
	// How long after asking for a key that the service does not have it is not asked for another one.
	issuerKeysPause = 5 * time.Second
	// How long after a failure the service is not asked, so that those who wait for it do not each wait for their own failure.
	issuerPause    = time.Second
	maxIssuerLists = 256
)

// An issuerData has the keys and the status lists of a service. They are read when they are needed, one request at a time.
type issuerData struct {
	registry *Registry
	// elapsed is the clock of tests.
	elapsed func() time.Time

	mutex               sync.Mutex
	keys                *KeySet
	keysAt, keysAskedAt time.Time
	lists               *boundedMap[string, readStatusList]
	failedAt            map[string]time.Time
}

type readStatusList struct {
	list *StatusList
	at   time.Time
}

func newIssuerData(registry *Registry) *issuerData {
	return &issuerData{
		registry: registry,
		elapsed:  time.Now,
		lists:    newBoundedMap[string, readStatusList](maxIssuerLists),
		failedAt: map[string]time.Time{},
	}
}

// verify verifies a certificate with keys that are at most a minute old, and a status list that is at most maxAge old; negative: as old as
// it says. issuer is the public address of the service.
func (d *issuerData) verify(ctx context.Context, token, issuer string, maxAge time.Duration, now time.Time) (*Certificate, error) {
	parsed, err := parseJWS(token, whatCertificate)
	if err != nil {
		return nil, err
	}
	// Nothing is fetched for a token that is refused anyway.
	if parsed.payload.members["iss"] != issuer {
		return nil, invalidToken(whatCertificate, "is not of an issuer that you trust.")
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	keys, err := d.keysWith(ctx, parsed.kid)
	if err != nil {
		return nil, err
	}
	if err := parsed.assertSigned(typCertificate, whatCertificate, keys, now); err != nil {
		return nil, err
	}
	certificate, err := certificateOf(issuer, parsed)
	if err != nil {
		return nil, err
	}
	list, err := d.statusList(ctx, issuer, certificate.StatusList.URI, maxAge, now)
	if err != nil {
		return nil, err
	}
	return certificate.withStatus(list)
}

func (d *issuerData) keysWith(ctx context.Context, kid string) (*KeySet, error) {
	now := d.elapsed()
	if d.keys != nil && now.Sub(d.keysAt) < issuerKeysLifetime {
		_, hasKey := d.keys.keys[kid]
		if hasKey || now.Sub(d.keysAskedAt) < issuerKeysPause {
			return d.keys, nil
		}
	}
	d.keysAskedAt = now
	err := d.ask("keys", func() (err error) {
		keys, err := d.registry.KeySet(ctx)
		if err == nil {
			d.keys, d.keysAt = keys, now
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return d.keys, nil
}

func (d *issuerData) statusList(ctx context.Context, issuer, uri string, maxAge time.Duration, now time.Time) (*StatusList, error) {
	askedAt := d.elapsed()
	known, isKnown := d.lists.get(uri)
	if isKnown {
		most := known.list.lifetime
		if maxAge >= 0 && maxAge < most {
			most = maxAge
		}
		if askedAt.Sub(known.at) < most && known.list.expiresAt.After(now) {
			return known.list, nil
		}
	}
	var token string
	path, _ := cutPrefix(uri, issuer)
	err := d.ask(uri, func() (err error) {
		token, err = d.registry.token(ctx, path, "application/statuslist+jwt")
		return err
	})
	if err != nil {
		return nil, err
	}
	parsed, err := parseJWS(token, whatStatusList)
	if err != nil {
		return nil, err
	}
	keys, err := d.keysWith(ctx, parsed.kid)
	if err != nil {
		return nil, err
	}
	list, err := verifyStatusList(parsed, issuer, uri, keys, now)
	if err != nil {
		return nil, err
	}
	// An older list is a replay: a restriction is in the newer one.
	if isKnown && known.list.IssuedAt.After(list.IssuedAt) {
		return nil, errorf(CodeIssuerUnavailable, "%s is an older list than before.", uri)
	}
	d.lists.set(uri, readStatusList{list, askedAt})
	return list, nil
}

// ask makes a request, unless one for the same failed a moment ago. What is asked for is named by certificates that were verified, so
// there is little of it.
func (d *issuerData) ask(what string, request func() error) error {
	if failedAt, ok := d.failedAt[what]; ok && d.elapsed().Sub(failedAt) < issuerPause {
		return errorf(CodeIssuerUnavailable, "The service did not answer a moment ago.")
	}
	delete(d.failedAt, what)
	if err := request(); err != nil {
		d.failedAt[what] = d.elapsed()
		return &Error{Code: CodeIssuerUnavailable, Message: "The service did not answer with keys and status lists.", Cause: err}
	}
	return nil
}

// rootStatus returns active or suspended, or the reason of a RootLookup. did is the agent that the request names.
func (d *issuerData) rootStatus(root DelegationRoot, did, issuer string, maxAge time.Duration, now time.Time) string {
	if root.DID != did {
		return "delegation-invalid"
	}
	// It does not end with the request of a caller: a caller that hangs up would make the service look unreachable to others.
	_, err := d.verify(context.Background(), root.Certificate, issuer, maxAge, now)
	switch {
	case err == nil:
		return "active"
	case errors.Is(err, &Error{Code: CodeCertificateSuspended}):
		return "suspended"
	case errors.Is(err, &Error{Code: CodeCertificateRevoked}):
		return "delegation-ended"
	case errors.Is(err, &Error{Code: CodeInvalidToken}):
		return "delegation-invalid"
	}
	return "directory-unavailable"
}

// keySequenceOf returns the number of the key in a certificate that was verified.
func keySequenceOf(certificate string) int64 {
	parsed, err := parseJWS(certificate, whatCertificate)
	if err != nil {
		return 0
	}
	sequence, _ := parsed.payload.integer("keySequence", 1, maxKeySequence)
	return sequence
}
