// Preloaded: the process seems to have started 40 seconds earlier.
const now = performance.now.bind(performance)
performance.now = () => now() + 40_000
