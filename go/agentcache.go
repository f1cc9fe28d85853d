package countersign

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"
)

const (
	maxCachedAgents  = 10_000
	maxUnknownAgents = 1_000
	// How long after a failure the service is not asked.
	servicePause = time.Second
)

// An agentCache looks agents up at the service and keeps the responses for some seconds.
type agentCache struct {
	registry  *Registry
	lifetime  time.Duration
	withGrade bool
	withKey   bool
	now       func() time.Time

	agents *boundedMap[string, cachedAgent]
	// unknown is apart, so that a flood of invented DIDs evicts no agent.
	unknown *boundedMap[string, cachedAgent]

	mutex        sync.Mutex
	blockedUntil time.Time
	pending      map[string]*pendingLookup
}

type cachedAgent struct {
	// agent is nil if the service does not know it.
	agent       *agentData
	requestedAt time.Time
}

// A pendingLookup is a request to the service for which several callers may wait.
type pendingLookup struct {
	done   chan struct{}
	result lookupResult
}

func newAgentCache(registry *Registry, seconds float64, withGrade, withKey bool, now func() time.Time) *agentCache {
	return &agentCache{
		registry:  registry,
		lifetime:  time.Duration(seconds * float64(time.Second)),
		withGrade: withGrade,
		withKey:   withKey,
		now:       now,
		agents:    newBoundedMap[string, cachedAgent](maxCachedAgents),
		unknown:   newBoundedMap[string, cachedAgent](maxUnknownAgents),
		pending:   map[string]*pendingLookup{},
	}
}

// fresh returns a response that is young enough.
func (c *agentCache) fresh(did string) (cachedAgent, bool) {
	entry, ok := c.get(did)
	return entry, ok && c.now().Sub(entry.requestedAt) < c.lifetime
}

// lookup asks the service, once for all that ask for an agent at the same time. Every error becomes an unreachable service.
func (c *agentCache) lookup(did string) lookupResult {
	c.mutex.Lock()
	if waiting, ok := c.pending[did]; ok {
		c.mutex.Unlock()
		<-waiting.done
		return waiting.result
	}
	// After a failure, so that requests do not each wait for a service that is down.
	if c.now().Before(c.blockedUntil) {
		c.mutex.Unlock()
		return c.unreachable(did)
	}
	own := &pendingLookup{done: make(chan struct{}), result: lookupResult{}}
	c.pending[did] = own
	c.mutex.Unlock()
	defer func() {
		c.mutex.Lock()
		delete(c.pending, did)
		c.mutex.Unlock()
		close(own.done)
	}()
	own.result = c.ask(did)
	return own.result
}

func (c *agentCache) ask(did string) lookupResult {
	requestedAt := c.now()
	agent, err := c.fetch(did)
	if err != nil {
		// Errors of the service itself. Any other one is about this agent.
		for _, code := range []string{CodeNetwork, "UNAVAILABLE", "RATE_LIMITED"} {
			if errors.Is(err, &Error{Code: code}) {
				c.mutex.Lock()
				c.blockedUntil = c.now().Add(servicePause)
				c.mutex.Unlock()
			}
		}
		return c.unreachable(did)
	}
	known, ok := c.get(did)
	// An earlier key than before comes from a stale cache: its holder may have lost it since.
	if ok && known.agent != nil && agent != nil && agent.keySequence < known.agent.keySequence {
		return c.unreachable(did)
	}
	target, other := c.agents, c.unknown
	if agent == nil {
		target, other = c.unknown, c.agents
	}
	target.set(did, cachedAgent{agent, requestedAt})
	other.remove(did)
	return lookupResult{answered: true, agent: agent}
}

// fetch returns nil if the service does not know the agent.
//
// It does not end with the request of a caller: a caller that hangs up would make the service look unreachable to others.
func (c *agentCache) fetch(did string) (*agentData, error) {
	ctx := context.Background()
	found, err := c.registry.Lookup(ctx, did)
	if errors.Is(err, &Error{Code: "NOT_FOUND"}) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	agent := &agentData{did: did, status: found.Status, verified: found.Verified}
	if found.IdentityMethod != "" {
		agent.identityMethod = &found.IdentityMethod
	}
	if c.withGrade {
		if agent.grade, err = c.registry.Grade(ctx, did); err != nil {
			return nil, err
		}
	}
	if !c.withKey {
		return agent, nil
	}
	info, err := c.registry.Agent(ctx, did)
	if err != nil {
		return nil, err
	}
	agent.keyAgeSeconds = time.Since(info.KeyChangedAt).Seconds()
	agent.ownerAgeSeconds = math.Inf(1)
	if !info.OwnerChangedAt.IsZero() {
		agent.ownerAgeSeconds = time.Since(info.OwnerChangedAt).Seconds()
	}
	agent.publicKey, agent.keyid, agent.keySequence = info.PublicKey, info.KeyThumbprint, info.KeySequence
	return agent, nil
}

func (c *agentCache) unreachable(did string) lookupResult {
	entry, ok := c.get(did)
	if !ok {
		return lookupResult{}
	}
	return lookupResult{agent: entry.agent, ageSeconds: c.now().Sub(entry.requestedAt).Seconds(), hasAge: true}
}

func (c *agentCache) get(did string) (cachedAgent, bool) {
	if entry, ok := c.agents.get(did); ok {
		return entry, true
	}
	return c.unknown.get(did)
}
