// Verifies a transparency log with Go's own packages, which share no code with the service:
//
//	log-verify <prefix, such as https://id.example/log> <verifier key> [file with an earlier checkpoint]
//
// It checks the signature of the checkpoint, every tile, every entry, an inclusion proof of each entry (of 200 at most), and that the
// tree contains the earlier one.
package main

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

type tiles struct{ prefix string }

func (t tiles) Height() int { return 8 }

func (t tiles) SaveTiles([]tlog.Tile, [][]byte) {}

func (t tiles) ReadTiles(wanted []tlog.Tile) ([][]byte, error) {
	var out [][]byte
	for _, tile := range wanted {
		data, err := get(t.prefix + strings.Replace("/"+tile.Path(), "/tile/8/", "/tile/", 1))
		if err != nil {
			return nil, err
		}
		out = append(out, data)
	}
	return out, nil
}

func get(url string) ([]byte, error) {
	response, err := http.Get(url)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", url, response.Status)
	}
	return io.ReadAll(response.Body)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func open(signed []byte, key string) tlog.Tree {
	verifier, err := note.NewVerifier(key)
	check(err)
	opened, err := note.Open(signed, note.VerifierList(verifier))
	check(err)
	lines := strings.Split(opened.Text, "\n")
	if len(lines) < 4 || lines[0] != verifier.Name() {
		log.Fatal("the checkpoint is of another log")
	}
	size, err := strconv.ParseInt(lines[1], 10, 64)
	check(err)
	root, err := base64.StdEncoding.DecodeString(lines[2])
	check(err)
	tree := tlog.Tree{N: size}
	copy(tree.Hash[:], root)
	return tree
}

func bundle(prefix string, size, index int64) [][]byte {
	tile := tlog.Tile{H: 8, L: -1, N: index, W: 256}
	if size < (index+1)*256 {
		tile.W = int(size - index*256)
	}
	path := strings.Replace("/"+tile.Path(), "/tile/8/data/", "/tile/entries/", 1)
	data, err := get(prefix + path)
	check(err)
	var entries [][]byte
	for len(data) >= 2 {
		length := int(binary.BigEndian.Uint16(data))
		entries = append(entries, data[2:2+length])
		data = data[2+length:]
	}
	if len(entries) != tile.W {
		log.Fatalf("%s has %d entries, not %d", path, len(entries), tile.W)
	}
	return entries
}

func main() {
	log.SetFlags(0)
	prefix, key := strings.TrimSuffix(os.Args[1], "/"), os.Args[2]
	signed, err := get(prefix + "/checkpoint")
	check(err)
	tree := open(signed, key)
	reader := tlog.TileHashReader(tree, tiles{prefix})
	step := tree.N/200 + 1
	for index := int64(0); index*256 < tree.N; index++ {
		entries := bundle(prefix, tree.N, index)
		at := make([]int64, len(entries))
		for i := range entries {
			at[i] = tlog.StoredHashIndex(0, index*256+int64(i))
		}
		leaves, err := reader.ReadHashes(at)
		check(err)
		for i, entry := range entries {
			id := index*256 + int64(i)
			if tlog.RecordHash(entry) != leaves[i] {
				log.Fatalf("entry %d is not the one that was hashed", id)
			}
			if id%step == 0 || id == tree.N-1 {
				proof, err := tlog.ProveRecord(tree.N, id, reader)
				check(err)
				check(tlog.CheckRecord(proof, tree.N, tree.Hash, id, tlog.RecordHash(entry)))
			}
		}
	}
	if len(os.Args) > 3 {
		earlier, err := os.ReadFile(os.Args[3])
		check(err)
		old := open(earlier, key)
		proof, err := tlog.ProveTree(tree.N, old.N, reader)
		check(err)
		check(tlog.CheckTree(proof, tree.N, tree.Hash, old.N, old.Hash))
		fmt.Printf("consistent with %d entries\n", old.N)
	}
	fmt.Printf("verified %d entries, root %s\n", tree.N, tree.Hash)
}
