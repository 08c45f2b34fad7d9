// Package queue holds the dispatcher's bounded work queue.
package queue

import (
	"context"
	"errors"
	"sync"
	"time"
)

// ErrClosed is returned by Push and Pop after Close.
var ErrClosed = errors.New("queue: closed")

// Item is one unit of work together with the moment it was accepted.
type Item struct {
	ID       string
	Payload  map[string]any
	Accepted time.Time
	Attempts int
}

// Queue is a bounded first-in, first-out queue that is safe for concurrent use.
type Queue struct {
	mu     sync.Mutex
	items  []Item
	limit  int
	closed bool
	signal chan struct{}
}

// New returns a queue that holds at most limit items.
func New(limit int) *Queue {
	return &Queue{limit: limit, signal: make(chan struct{}, 1)}
}

// Push adds an item, waiting until there is room or the context is done.
func (q *Queue) Push(ctx context.Context, item Item) error {
	for {
		q.mu.Lock()
		if q.closed {
			q.mu.Unlock()
			return ErrClosed
		}
		if len(q.items) < q.limit {
			item.Accepted = time.Now()
			q.items = append(q.items, item)
			q.mu.Unlock()
			q.wake()
			return nil
		}
		q.mu.Unlock()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-q.signal:
		}
	}
}

func (q *Queue) wake() {
	select {
	case q.signal <- struct{}{}:
	default:
	}
}
