package countersign

import (
	"regexp"
	"strings"
	"time"
)

const (
	maxKeyProofLength = 65_536
	maxLogEntryBytes  = 1024
	logProofHeader    = "c2sp.org/tlog-proof@v1"
)

var indexLine = regexp.MustCompile(`^index ([0-9]+)$`)

// An AgentKeyID says which key of which agent, as a verified certificate or the agent object has it.
type AgentKeyID struct {
	DID string
	// KeyThumbprint is the JWK thumbprint (RFC 7638).
	KeyThumbprint string
	// KeySequence is the number of this key among the agent's keys, from 1.
	KeySequence int64
}

// A CosignedBy is a witness of a policy that has cosigned a checkpoint.
type CosignedBy struct {
	// Name is that in the policy.
	Name string
	Time time.Time
}

// A KeyProof is the place of a key in a transparency log.
type KeyProof struct {
	// Checkpoint is the one under which the entry is.
	Checkpoint Checkpoint
	// Index of the entry, from 0.
	Index int64
	// Witnesses of the policy that have cosigned the checkpoint.
	Witnesses []CosignedBy
}

// VerifyKeyProof verifies that the key of an agent is in a transparency log (C2SP tlog-proof), without the network. It shows that the
// key was logged, not that the agent is still active.
//
// proof is the text that the service serves at /log/proof/{did}, as Registry.LogProof returns it. The error has CodeInvalidProof.
func VerifyKeyProof(proof string, key AgentKeyID, policy *LogPolicy) (*KeyProof, error) {
	parsed, ok := parseLogProof(proof)
	if !ok || parsed.extra == nil {
		return nil, errProof
	}
	entry, ok := parseLogEntry(parsed.extra)
	if !ok {
		return nil, errProof
	}
	if !isEntryOf(entry, key) {
		return nil, errorf(CodeInvalidProof, "The proof is for another agent or another key.")
	}
	for _, log := range policy.logs {
		checkpoint, note, ok := openCheckpoint(parsed.checkpoint, log)
		if !ok {
			continue
		}
		if !VerifyInclusion(checkpoint.TreeHead, parsed.index, HashLeaf(parsed.extra), parsed.path) {
			return nil, errProof
		}
		found := &KeyProof{Checkpoint: checkpoint, Index: parsed.index}
		for _, witness := range policy.witnesses {
			if at, ok := note.cosignedAt(witness.key); ok {
				found.Witnesses = append(found.Witnesses, CosignedBy{witness.name, time.Unix(at, 0)})
			}
		}
		if !policy.isQuorum(found.Witnesses) {
			return nil, errorf(CodeInvalidProof, "The checkpoint of the proof lacks cosignatures that the policy requires.")
		}
		return found, nil
	}
	return nil, errorf(CodeInvalidProof, "The checkpoint of the proof is not signed by a log of the policy.")
}

var errProof = errorf(CodeInvalidProof, "The proof is malformed, or its entry is not under its checkpoint.")

// A logProof is a proof that an entry is in a log. Nothing of it is verified yet.
type logProof struct {
	// extra carries the entry; nil if there is none.
	extra      []byte
	index      int64
	path       []TreeHash
	checkpoint string
}

func parseLogProof(text string) (logProof, bool) {
	head, checkpoint, ok := strings.Cut(text, "\n\n")
	lines := strings.Split(head, "\n")
	if !ok || len(text) > maxKeyProofLength || lines[0] != logProofHeader {
		return logProof{}, false
	}
	proof := logProof{checkpoint: checkpoint}
	lines = lines[1:]
	if len(lines) > 0 && strings.HasPrefix(lines[0], "extra ") {
		if proof.extra, ok = decodeBase64(lines[0][len("extra "):]); !ok {
			return logProof{}, false
		}
		lines = lines[1:]
	}
	if len(lines) == 0 || len(lines) > 64 {
		return logProof{}, false
	}
	index := indexLine.FindStringSubmatch(lines[0])
	if index == nil {
		return logProof{}, false
	}
	if proof.index, ok = parseTreeSize(index[1]); !ok {
		return logProof{}, false
	}
	for _, line := range lines[1:] {
		data, ok := decodeKey(line)
		if !ok {
			return logProof{}, false
		}
		var hash TreeHash
		copy(hash[:], data)
		proof.path = append(proof.path, hash)
	}
	return proof, true
}

// parseLogEntry reads an entry: canonical JSON (RFC 8785) below 1 KiB, with the members that all entries about agents have.
func parseLogEntry(data []byte) (*jsonObject, bool) {
	if len(data) >= maxLogEntryBytes {
		return nil, false
	}
	entry, err := parseJSONObject(data)
	if err != nil || string(canonicalJSON(entry)) != string(data) {
		return nil, false
	}
	_, hasTime := entry.integer("at", 0, maxSafeInteger)
	_, hasType := entry.text("type")
	_, hasDID := entry.text("did")
	_, hasKey := entry.text("key")
	_, hasSequence := entry.integer("keySequence", 0, maxSafeInteger)
	by, _ := entry.text("by")
	isActor := by == "agent" || by == "owner" || by == "operator" || by == "service"
	hasPrevious := entry.has("prev") && (entry.members["prev"] == nil || isEncodedHash(entry, "prev"))
	return entry, entry.members["v"] == float64(1) && hasTime && hasType && hasDID && hasKey && hasSequence &&
		isActor && hasPrevious && isEncodedHash(entry, "commitment")
}

func isEncodedHash(entry *jsonObject, name string) bool {
	text, _ := entry.text(name)
	_, ok := decodeKey(text)
	return ok
}

// isEntryOf reports whether an entry made a key of an agent the current one.
func isEntryOf(entry *jsonObject, key AgentKeyID) bool {
	switch kind, _ := entry.text("type"); kind {
	case "claimed", "existing", "key_rotated", "key_recovered", "key_contested":
	default:
		return false
	}
	sequence, _ := entry.integer("keySequence", 0, maxSafeInteger)
	return entry.members["did"] == key.DID && entry.members["key"] == key.KeyThumbprint && sequence == key.KeySequence
}
