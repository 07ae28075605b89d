//! How a store is opened, from keywords to the core's options and back.

use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyBytesMethods, PyDict};
use warmset_core::cold::{Durability, Encryption, Mode, OnBusy, Options, Read};

use crate::cold_arguments::{expected, whole};
use crate::error::{invalid, not_portable};

/// Time between two syncs under `durability="interval"`, where nothing else is said.
const SYNC_INTERVAL: Duration = Duration::from_millis(50);

/// An option that is one of a few words.
pub(crate) trait Words: Copy + PartialEq + 'static {
    /// The option's name.
    const OPTION: &'static str;
    /// Its words and what they mean.
    const WORDS: &'static [(&'static str, Self)];

    /// The word for this.
    fn word(self) -> &'static str {
        let mut words = Self::WORDS.iter();
        words.find(|row| row.1 == self).map_or("", |row| row.0)
    }
}

/// One of the words of an option.
pub(crate) struct Word<T>(pub(crate) T);

impl<T: Words> FromPyObject<'_, '_> for Word<T> {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        let known = |text: &str| T::WORDS.iter().find(|row| row.0 == text);
        let found = given.extract::<String>().ok();
        found
            .and_then(|text| known(&text))
            .map(|row| Self(row.1))
            .ok_or_else(|| {
                let words: Vec<String> = T::WORDS.iter().map(|w| format!("{:?}", w.0)).collect();
                expected(T::OPTION, &format!("one of {}", words.join(", ")), &given)
            })
    }
}

impl Words for Mode {
    const OPTION: &'static str = "mode";
    const WORDS: &'static [(&'static str, Self)] = &[
        ("shared", Self::Shared),
        ("exclusive", Self::Exclusive),
        ("read", Self::Read),
    ];
}

impl Words for Read {
    const OPTION: &'static str = "read";
    const WORDS: &'static [(&'static str, Self)] =
        &[("map", Self::Map), ("pread", Self::Positional)];
}

impl Words for OnBusy {
    const OPTION: &'static str = "on_busy";
    const WORDS: &'static [(&'static str, Self)] = &[("error", Self::Fail), ("spool", Self::Spool)];
}

/// A durability without its time.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Level {
    Fsync,
    Os,
    Interval,
}

impl Words for Level {
    const OPTION: &'static str = "durability";
    const WORDS: &'static [(&'static str, Self)] = &[
        ("fsync", Self::Fsync),
        ("os", Self::Os),
        ("interval", Self::Interval),
    ];
}

/// The durability of a level and, for "interval", the seconds that were given.
///
/// # Errors
/// `InvalidInputError` for a time that cannot be, or one that nothing would use.
pub(crate) fn durability(level: Level, every: Option<&Bound<'_, PyAny>>) -> PyResult<Durability> {
    let every = every.map(|given| {
        let time = seconds(given).filter(|time| !time.is_zero());
        time.ok_or_else(|| expected("sync_interval", "seconds, more than 0", given))
    });
    match (level, every.transpose()?) {
        (Level::Interval, every) => Ok(Durability::Interval(every.unwrap_or(SYNC_INTERVAL))),
        (_, Some(_)) => Err(invalid(
            "sync_interval: expected None unless durability=\"interval\"",
        )),
        (Level::Fsync, None) => Ok(Durability::Fsync),
        (Level::Os, None) => Ok(Durability::Os),
    }
}

/// None, "keys" or a master key. What was given is never shown: it may be a key.
///
/// # Errors
/// `InvalidInputError` for anything else.
pub(crate) fn encryption(given: Option<&Bound<'_, PyAny>>) -> PyResult<Encryption> {
    let Some(given) = given else {
        return Ok(Encryption::Off);
    };
    if given.extract::<String>().is_ok_and(|text| text == "keys") {
        return Ok(Encryption::Keys);
    }
    let found = match given.cast::<PyBytes>() {
        Ok(bytes) => match bytes.as_bytes().try_into() {
            Ok(master) => return Ok(Encryption::Master(master)),
            Err(_) => format!("{} bytes", bytes.as_bytes().len()),
        },
        Err(_) => given.get_type().to_string(),
    };
    Err(invalid(&format!(
        "encryption: expected None, \"keys\" or a master key of 32 bytes, found {found}"
    )))
}

/// A size in bytes, or the standard one.
///
/// # Errors
/// `InvalidInputError` for what is no integer of at least 1.
pub(crate) fn size(name: &str, given: Option<&Bound<'_, PyAny>>, standard: u64) -> PyResult<u64> {
    given.map_or(Ok(standard), |given| {
        let size = whole(given).filter(|size| *size > 0);
        size.ok_or_else(|| expected(name, "a number of bytes, 1 or more", given))
    })
}

/// How long to wait for the lock.
pub(crate) struct Wait(pub(crate) Duration);

impl FromPyObject<'_, '_> for Wait {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        let time = seconds(&given).map(Self);
        time.ok_or_else(|| expected("lock_wait", "seconds, 0 or more", &given))
    }
}

/// Options that only go together.
///
/// # Errors
/// `InvalidInputError` for those that do not.
pub(crate) fn agree(options: &Options, in_memory: bool) -> PyResult<()> {
    if options.on_busy == OnBusy::Spool && options.mode != Mode::Shared {
        return Err(invalid(&format!(
            "on_busy: expected \"error\" with mode={:?}; only a shared store has a spool",
            options.mode.word()
        )));
    }
    if in_memory && options.mode == Mode::Read {
        return Err(invalid(
            "mode: expected \"shared\" or \"exclusive\" in memory, where there is nothing to read",
        ));
    }
    Ok(())
}

/// Whether another process may open the store from what a pickle holds.
///
/// # Errors
/// `NotPortable` with the reason.
pub(crate) fn portable(options: &Options, in_memory: bool) -> PyResult<()> {
    if in_memory {
        return Err(not_portable(
            "a ColdStore in memory cannot be pickled or copied: it ends with its handle",
        ));
    }
    if matches!(options.encryption, Encryption::Master(_)) {
        return Err(not_portable(
            "a ColdStore with a master key cannot be pickled or copied: the key would lie in the \
             pickle; open it by path and key instead",
        ));
    }
    Ok(())
}

/// The keywords that open a store with these options. A master key is not among them.
///
/// # Errors
/// What the interpreter answers.
pub(crate) fn keywords<'py>(py: Python<'py>, options: &Options) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    let level = match options.durability {
        Durability::Fsync => Level::Fsync,
        Durability::Os => Level::Os,
        Durability::Interval(every) => {
            out.set_item("sync_interval", every.as_secs_f64())?;
            Level::Interval
        }
    };
    out.set_item("mode", options.mode.word())?;
    out.set_item("durability", level.word())?;
    out.set_item("on_busy", options.on_busy.word())?;
    out.set_item("read", options.read.word())?;
    if options.encryption == Encryption::Keys {
        out.set_item("encryption", "keys")?;
    }
    out.set_item("segment_bytes", options.segment_bytes)?;
    out.set_item("max_record", options.max_record)?;
    out.set_item("lock_wait", options.lock_wait.as_secs_f64())?;
    Ok(out)
}

fn seconds(given: &Bound<'_, PyAny>) -> Option<Duration> {
    if given.is_instance_of::<PyBool>() {
        return None;
    }
    let seconds = given.extract::<f64>().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}
