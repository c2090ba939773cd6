//! A long and narrow way to a server: every byte takes a while, and only so many pass at a time.

use std::{
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex, mpsc},
    thread,
    time::{Duration, Instant},
};

use std::io::{Read, Write};

/// Number of bytes taken at a time.
const PIECE: usize = 8 << 10;

/// A running way; it ends with the test binary.
pub struct Road {
    pub address: SocketAddr,
}

/// All connections share the capacity of one direction.
struct Lane {
    delay: Duration,
    bytes_per_second: f64,
    /// When the last byte that is on its way has passed the narrow place.
    free: Mutex<Instant>,
}

impl Lane {
    /// When `bytes` arrive that are sent now.
    fn arrival(&self, bytes: usize) -> Instant {
        let mut free = self.free.lock().expect("no panic");
        let passing = Duration::from_secs_f64(bytes as f64 / self.bytes_per_second);
        *free = (*free).max(Instant::now()) + passing;
        *free + self.delay
    }
}

impl Road {
    /// A way to `server` on which each direction takes `delay`, and lets so many bits pass.
    pub fn start(server: SocketAddr, delay: Duration, bits_per_second: f64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let lane = || {
            Arc::new(Lane {
                delay,
                bytes_per_second: bits_per_second / 8.0,
                free: Mutex::new(Instant::now()),
            })
        };
        let (there, back) = (lane(), lane());
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (there, back) = (Arc::clone(&there), Arc::clone(&back));
                thread::spawn(move || {
                    // The handshake of TCP, which this machine has with itself in no time.
                    thread::sleep(2 * delay);
                    let Ok(server) = TcpStream::connect(server) else {
                        return;
                    };
                    let _ = (client.set_nodelay(true), server.set_nodelay(true));
                    let (from_client, from_server) = (
                        client.try_clone().expect("a socket"),
                        server.try_clone().expect("a socket"),
                    );
                    carry(from_client, server, there);
                    carry(from_server, client, back);
                });
            }
        });
        Self { address }
    }
}

/// Carries bytes from one to the other until there are no more.
fn carry(mut from: TcpStream, mut to: TcpStream, lane: Arc<Lane>) {
    let (sender, receiver) = mpsc::channel::<(Instant, Vec<u8>)>();
    thread::spawn(move || {
        let mut piece = vec![0; PIECE];
        while let Ok(count @ 1..) = from.read(&mut piece) {
            let arrival = lane.arrival(count);
            if sender.send((arrival, piece[..count].to_vec())).is_err() {
                return;
            }
            // No more is taken than the narrow place has room for: 64 pieces wait at most.
            let ahead = arrival.saturating_duration_since(Instant::now());
            thread::sleep(ahead.saturating_sub(lane.delay + Duration::from_millis(200)));
        }
    });
    thread::spawn(move || {
        while let Ok((arrival, piece)) = receiver.recv() {
            thread::sleep(arrival.saturating_duration_since(Instant::now()));
            if to.write_all(&piece).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Write);
    });
}
