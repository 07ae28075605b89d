//! Every bit of every file flipped, and every file cut at every length: segments, sealed and not, with
//! a tombstone and sources, the mark, keys, and a batch in the spool; encrypted and plain.

use crate::support::sample::sample;
use warmset_core::cold::Encryption;

#[test]
fn every_flipped_bit_costs_one_record_at_most() {
    for encryption in [
        Encryption::Off,
        Encryption::Keys,
        Encryption::Master([7; 32]),
    ] {
        let count = sample(encryption).flip_every_bit();
        println!("{encryption:?}: {count} bits");
    }
}

#[test]
fn every_cut_costs_what_lay_behind_it() {
    for encryption in [
        Encryption::Off,
        Encryption::Keys,
        Encryption::Master([7; 32]),
    ] {
        let count = sample(encryption).cut_everywhere();
        println!("{encryption:?}: {count} lengths");
    }
}
