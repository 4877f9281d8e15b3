-- For wrk: asks for one path after the other, with a token, and prints what came of it as JSON.
-- Arguments: the token, then the paths; more than a few, so that no answer is told twice from the same look-up.

local paths = {}
local at = 0

function init(args)
  wrk.headers["Authorization"] = "Bearer " .. args[1]
  for n = 2, #args do paths[n - 1] = args[n] end
end

function request()
  at = at % #paths + 1
  return wrk.format("GET", paths[at])
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format('\n{"requests": %d, "duration_us": %d, "p99_us": %d, "failed": %d}\n',
    summary.requests, summary.duration, latency:percentile(99),
    errors.connect + errors.read + errors.write + errors.status + errors.timeout))
end
