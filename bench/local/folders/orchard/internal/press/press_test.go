package press

import "testing"

func TestNothingComesFromTenKilos(t *testing.T) {
	if Juice(10) != 0 {
		t.Fatal("juice from nothing")
	}
}
