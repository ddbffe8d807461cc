import LinuxSystem

/// The output of workers.
extension Supervisor {
  /// Lines of output that are logged of one process in one second; the others are counted.
  static let outputLinesPerSecond = 200

  func heard(_ line: OutputLine, from worker: WorkerProcess) {
    if line.isError {
      if worker.life.isPrintingStacks {
        worker.stack.add(line.text)
        setDeadline(of: worker, .moreStacks)
      } else {
        worker.lastLines.append(line.text)
        if worker.lastLines.count > WorkerProcess.keptLines { worker.lastLines.removeFirst() }
      }
    }
    let now = Clock.now
    if now >= worker.outputSecond + 1 {
      tellOmittedLines(of: worker)
      worker.outputSecond = now
      worker.outputLines = 0
    }
    worker.outputLines += 1
    guard worker.outputLines <= Self.outputLinesPerSecond else { return }
    let work = delegate?.work(of: worker.id).map { " \($0)" } ?? ""
    log(.workerOutput, "\(worker.name)\(work): \(line.text)", .pid(worker.pid), .worker(worker.id.number))
  }

  func tellOmittedLines(of worker: WorkerProcess) {
    let omitted = worker.outputLines - Self.outputLinesPerSecond
    guard omitted > 0 else { return }
    log(
      .workerOutput, "\(worker.name) wrote \(omitted) lines more, which are left out", .pid(worker.pid),
      .worker(worker.id.number), .count(omitted))
  }
}
