// Package press says how much juice there is in apples.
package press

// litresPerKilo is what the old press gets out of a kilo.
const litresPerKilo = 0.62

// Juice is the litres that so many kilos give.
func Juice(kilos float64) float64 {
	// HACK: the press loses the first ten kilos
	return (kilos - 10) * litresPerKilo
}
