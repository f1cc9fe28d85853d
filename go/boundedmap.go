package countersign

import (
	"container/list"
	"sync"
)

// A boundedMap forgets the entry that was set the longest time ago. It may be used by several goroutines.
type boundedMap[K comparable, V any] struct {
	mutex   sync.Mutex
	limit   int
	entries map[K]*list.Element
	// From the one that was set the longest time ago.
	order *list.List
}

type boundedEntry[K comparable, V any] struct {
	key   K
	value V
}

func newBoundedMap[K comparable, V any](limit int) *boundedMap[K, V] {
	return &boundedMap[K, V]{limit: limit, entries: map[K]*list.Element{}, order: list.New()}
}

func (m *boundedMap[K, V]) get(key K) (V, bool) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return m.lookup(key)
}

func (m *boundedMap[K, V]) lookup(key K) (V, bool) {
	element, ok := m.entries[key]
	if !ok {
		var none V
		return none, false
	}
	return element.Value.(boundedEntry[K, V]).value, true
}

func (m *boundedMap[K, V]) set(key K, value V) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.store(key, value)
}

func (m *boundedMap[K, V]) store(key K, value V) {
	if element, ok := m.entries[key]; ok {
		element.Value = boundedEntry[K, V]{key, value}
		m.order.MoveToBack(element)
		return
	}
	m.entries[key] = m.order.PushBack(boundedEntry[K, V]{key, value})
	if len(m.entries) > m.limit {
		oldest := m.order.Front()
		m.order.Remove(oldest)
		delete(m.entries, oldest.Value.(boundedEntry[K, V]).key)
	}
}

// update replaces a value at once. found is false if there was none.
func (m *boundedMap[K, V]) update(key K, change func(value V, found bool) V) V {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	value, found := m.lookup(key)
	value = change(value, found)
	m.store(key, value)
	return value
}

func (m *boundedMap[K, V]) remove(key K) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if element, ok := m.entries[key]; ok {
		m.order.Remove(element)
		delete(m.entries, key)
	}
}
