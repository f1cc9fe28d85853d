package countersign

import (
	"bytes"
	"crypto/sha256"
)

// The Merkle tree of a transparency log (RFC 6962, RFC 9162).

// A TreeHash is a hash of the tree.
type TreeHash [sha256.Size]byte

// A TreeHead is a tree: its number of entries, and its root.
type TreeHead struct {
	Size int64
	Root TreeHash
}

// HashLeaf returns the hash of an entry (RFC 6962 section 2.1): SHA-256(0x00 ‖ entry).
func HashLeaf(entry []byte) TreeHash { return sha256.Sum256(append([]byte{0}, entry...)) }

func hashNode(left, right TreeHash) TreeHash {
	return sha256.Sum256(bytes.Join([][]byte{{1}, left[:], right[:]}, nil))
}

// VerifyInclusion reports whether an audit path leads from an entry to the root (RFC 9162 section 2.1.3.2).
func VerifyInclusion(head TreeHead, index int64, leaf TreeHash, proof []TreeHash) bool {
	if index < 0 || index >= head.Size {
		return false
	}
	node, last, hash := index, head.Size-1, leaf
	for _, sibling := range proof {
		if last == 0 {
			return false
		}
		if node%2 == 1 || node == last {
			hash = hashNode(sibling, hash)
			for node%2 == 0 && node != 0 {
				node, last = node/2, last/2
			}
		} else {
			hash = hashNode(hash, sibling)
		}
		node, last = node/2, last/2
	}
	return last == 0 && hash == head.Root
}

// VerifyConsistency reports whether a tree contains an earlier one at its beginning (RFC 9162 section 2.1.4.2). Every tree contains the
// empty one, and only itself at the same size; both have an empty proof.
func VerifyConsistency(old, current TreeHead, proof []TreeHash) bool {
	switch {
	case old.Size < 0 || old.Size > current.Size:
		return false
	case old.Size == 0:
		return len(proof) == 0 && old.Root == sha256.Sum256(nil)
	case old.Size == current.Size:
		return len(proof) == 0 && old.Root == current.Root
	case len(proof) == 0:
		return false
	}
	path := proof
	if old.Size&(old.Size-1) == 0 {
		path = append([]TreeHash{old.Root}, proof...)
	}
	node, last := old.Size-1, current.Size-1
	for node%2 == 1 {
		node, last = node/2, last/2
	}
	oldHash, newHash := path[0], path[0]
	for _, sibling := range path[1:] {
		if last == 0 {
			return false
		}
		if node%2 == 1 || node == last {
			oldHash, newHash = hashNode(sibling, oldHash), hashNode(sibling, newHash)
			for node%2 == 0 && node != 0 {
				node, last = node/2, last/2
			}
		} else {
			newHash = hashNode(newHash, sibling)
		}
		node, last = node/2, last/2
	}
	return last == 0 && oldHash == old.Root && newHash == current.Root
}
