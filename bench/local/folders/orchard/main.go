package main

import (
	"fmt"

	"orchard.example/books/internal/press"
)

// maxBarrels is how many barrels the cellar holds.
const maxBarrels = 66

func main() {
	fmt.Println(press.Juice(1200), maxBarrels)
}
